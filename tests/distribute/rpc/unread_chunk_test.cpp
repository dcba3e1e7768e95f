// Parts that are read where the network has left them.
#include "cohort/distribute/rpc/unread_chunk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "cohort/distribute/protocol/message_flags.h"
#include "cohort/distribute/rpc/message_writer.h"
#include "tests/support/error_of.h"

namespace cohort::distribute::rpc {
namespace {

using cohort::test::error_of;
using testing::HasSubstr;

constexpr std::int64_t kBytes = 200'001;

Tensor counted_bytes(std::int64_t bytes) {
  std::vector<std::uint8_t> values(static_cast<std::size_t>(bytes));
  std::iota(values.begin(), values.end(), std::uint8_t{0});
  return Tensor::of(values, {bytes});
}

// A message of one chunk, in pieces of a size that no value is aligned to.
grpc::ByteBuffer sent_chunk_of(const Message& message, bool copied, std::size_t damaged = 0) {
  MessageWriter writer;
  writer.begin(message, 0, copied);
  grpc::ByteBuffer chunk;
  EXPECT_TRUE(writer.next(chunk));
  EXPECT_TRUE(writer.done());
  grpc::Slice whole;
  EXPECT_TRUE(chunk.DumpToSingleSlice(&whole).ok());
  std::string bytes(reinterpret_cast<const char*>(whole.begin()), whole.size());
  if (damaged > 0) bytes[damaged] = static_cast<char>(bytes[damaged] ^ 4);
  std::vector<grpc::Slice> pieces;
  for (std::size_t at = 0; at < bytes.size(); at += 4099) pieces.emplace_back(bytes.substr(at, 4099));
  return grpc::ByteBuffer(pieces.data(), pieces.size());
}

Message exchange(std::int64_t bytes = kBytes) {
  Message message;
  message.head.method = Method::Exchange;
  message.head.flags = kOneWay;
  message.head.sequence = 17;
  message.parts = {counted_bytes(bytes)};
  return message;
}

TEST(UnreadChunk, IsReadPieceByPiece) {
  for (const bool copied : {false, true}) {
    grpc::ByteBuffer chunk = sent_chunk_of(exchange(), copied);
    Head head;
    const std::shared_ptr<UnreadPart> part = set_aside(chunk, head);
    ASSERT_TRUE(part);
    EXPECT_EQ(head.sequence, 17u);
    ASSERT_EQ(part->left(), static_cast<std::size_t>(kBytes));
    std::vector<std::byte> got(part->left());
    for (std::size_t at = 0; at < got.size(); at += 1000)
      part->read(&got[at], std::min<std::size_t>(1000, part->left()));
    EXPECT_EQ(part->left(), 0u);
    EXPECT_EQ(std::memcmp(got.data(), counted_bytes(kBytes).raw(), got.size()), 0);
  }
}

TEST(UnreadChunk, IsDamagedWhereAByteOrItsHeadIs) {
  for (const std::size_t damaged : {std::size_t{40}, std::size_t{100'000}}) {
    grpc::ByteBuffer chunk = sent_chunk_of(exchange(), true, damaged);
    Head head;
    const std::shared_ptr<UnreadPart> part = set_aside(chunk, head);
    ASSERT_TRUE(part);
    std::vector<std::byte> got(part->left());
    EXPECT_THAT(error_of([&] { part->read(got.data(), got.size()); }), HasSubstr("fit their sum"));
  }
}

TEST(UnreadChunk, LeavesOtherMessagesToTheReader) {
  std::vector<Message> others(5, exchange());
  others[0].head.method = Method::Echo;
  others[1].head.flags = 0;
  others[2].meta = "something";
  others[3].parts.push_back(counted_bytes(3));
  others[4].parts = {counted_bytes(100)};
  for (const Message& other : others) {
    grpc::ByteBuffer chunk = sent_chunk_of(other, false);
    const std::size_t bytes = chunk.Length();
    Head head;
    EXPECT_FALSE(set_aside(chunk, head));
    EXPECT_EQ(chunk.Length(), bytes);
  }
}

}  // namespace
}  // namespace cohort::distribute::rpc
