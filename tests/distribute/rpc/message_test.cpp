// Messages as bytes: nothing that arrives is believed before it is checked.
#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "cohort/distribute/rpc/grpc_settings.h"
#include "cohort/distribute/rpc/message_reader.h"
#include "cohort/distribute/rpc/message_writer.h"
#include "cohort/files/crc32c.h"
#include "tests/distribute/rpc/test_services.h"

namespace cohort::distribute::rpc {
namespace {

using namespace std::chrono_literals;

std::string bytes_of(const grpc::ByteBuffer& buffer) {
  grpc::Slice slice;
  EXPECT_TRUE(buffer.DumpToSingleSlice(&slice).ok());
  return std::string(reinterpret_cast<const char*>(slice.begin()), slice.size());
}

std::vector<std::string> chunks_of(const Message& message) {
  MessageWriter writer;
  writer.begin(message);
  std::vector<std::string> chunks;
  grpc::ByteBuffer chunk;
  while (writer.next(chunk)) chunks.push_back(bytes_of(chunk));
  return chunks;
}

void feed_again(MessageReader& reader, const std::string& chunk, std::size_t piece = 1 << 20) {
  for (std::size_t at = 0; at < chunk.size() && reader.wants_again(); at += piece) {
    reader.take_again(chunk.data() + at, std::min(piece, chunk.size() - at));
  }
  EXPECT_FALSE(reader.wants_again());
}

bool feed(MessageReader& reader, const std::string& chunk, std::size_t piece = 1 << 20) {
  reader.begin_chunk(chunk.size());
  for (std::size_t at = 0; at < chunk.size(); at += piece) {
    reader.take(chunk.data() + at, std::min(piece, chunk.size() - at));
  }
  const bool complete = reader.end_chunk();
  feed_again(reader, chunk, piece);
  return complete;
}

void admit(MessageReader& reader, const std::string& chunk) {
  reader.admit();
  feed_again(reader, chunk);
}

void expect_loss(const std::string& chunk, const std::string& what) {
  MessageReader reader;
  try {
    feed(reader, chunk);
    ADD_FAILURE() << what << " was believed";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::DataLoss) << what;
  }
}

// A sum that fits, for lies that only the checks behind it can find.
void mend_sum(std::string& chunk) {
  const std::uint32_t sum = crc32c(std::string_view(chunk).substr(wire::kUnsummedHeader));
  std::memcpy(chunk.data() + offsetof(wire::ChunkHeader, crc), &sum, sizeof sum);
}

template <class T>
void put(std::string& chunk, std::size_t at, T value) {
  std::memcpy(chunk.data() + at, &value, sizeof value);
  mend_sum(chunk);
}

Message example() {
  Message message;
  message.head.sequence = 5;
  message.meta = "meta";
  message.parts = {Tensor::of<float>({1, 2, 3, 4, 5, 6}, {2, 3}), Tensor::of_strings({"a", "bcd"}, {2})};
  return message;
}

constexpr std::size_t kPrologueAt = sizeof(wire::ChunkHeader);
constexpr std::size_t kSpecsAt = kPrologueAt + sizeof(wire::Prologue);

TEST(MessageBytes, AreReadInPiecesOfAnySize) {
  Message message = example();
  message.parts.push_back(Tensor::full({700'000}, 3));
  const auto chunks = chunks_of(message);
  EXPECT_GT(chunks.size(), 2u);
  for (const std::size_t piece : {std::size_t{7}, std::size_t{4096}, std::size_t{1} << 20}) {
    MessageReader reader;
    for (std::size_t i = 0; i < chunks.size(); ++i) EXPECT_EQ(feed(reader, chunks[i], piece), i + 1 == chunks.size());
    Message got;
    reader.give(got);
    EXPECT_EQ(got.meta, "meta");
    ASSERT_EQ(got.parts.size(), 3u);
    EXPECT_EQ(got.parts[0].to_vector<float>(), message.parts[0].to_vector<float>());
    EXPECT_EQ(got.parts[1].to_strings(), message.parts[1].to_strings());
    EXPECT_EQ(got.parts[2].to_vector<float>(), message.parts[2].to_vector<float>());
  }
}

TEST(MessageBytes, AreRefusedWhenOneChanged) {
  const std::string chunk = chunks_of(example())[0];
  for (std::size_t at = 0; at < chunk.size(); ++at) {
    std::string damaged = chunk;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    expect_loss(damaged, "byte " + std::to_string(at));
  }
  expect_loss("", "nothing");
  expect_loss(chunk.substr(0, 20), "a header alone");
  expect_loss(chunk.substr(0, 19), "half a header");
}

TEST(MessageBytes, AreRefusedWhenTheirSizesLie) {
  const std::string good = chunks_of(example())[0];
  const auto with = [&](std::size_t at, auto value, const char* what) {
    std::string chunk = good;
    put(chunk, at, value);
    expect_loss(chunk, what);
  };
  with(offsetof(wire::ChunkHeader, number), std::uint32_t{1}, "a second chunk without a first");
  with(offsetof(wire::ChunkHeader, total), std::uint64_t{1} << 60, "a total beyond all memory");
  with(offsetof(wire::ChunkHeader, total), std::uint64_t{50}, "a total below the head");
  with(kPrologueAt + offsetof(wire::Prologue, parts), std::uint32_t{0xffffffff}, "too many parts");
  with(kPrologueAt + offsetof(wire::Prologue, parts), std::uint32_t{1}, "too few parts");
  with(kPrologueAt + offsetof(wire::Prologue, spec_bytes), ~std::uint64_t{0}, "endless specs");
  with(kPrologueAt + offsetof(wire::Prologue, meta_bytes), ~std::uint64_t{0} - 100, "endless meta");
  with(kPrologueAt + offsetof(wire::Prologue, data_bytes), ~std::uint64_t{0}, "endless data");
  with(kPrologueAt + offsetof(wire::Prologue, data_bytes), std::uint64_t{0}, "no data");
  with(kSpecsAt, std::uint8_t{200}, "an unknown type");
  with(kSpecsAt, static_cast<std::uint8_t>(DType::Resource), "a resource");
  with(kSpecsAt, static_cast<std::uint8_t>(DType::Float64), "a type of another size");
  with(kSpecsAt, wire::kUndefined, "an undefined part with a shape");
  with(kSpecsAt + 1, std::uint8_t{9}, "nine axes");
  with(kSpecsAt + 1, std::uint8_t{255}, "255 axes");
  with(kSpecsAt + 8, std::uint64_t{1} << 62, "a part beyond the message");
  with(kSpecsAt + 16, std::int64_t{-2}, "a negative axis");
  with(kSpecsAt + 16, std::int64_t{1} << 62, "a product that wraps around");
  const std::size_t strings = good.size() - 4 - 16;
  with(strings, std::uint64_t{5}, "a string beyond its part");
  with(strings, ~std::uint64_t{0}, "an endless string");
  with(strings, std::uint64_t{0}, "strings that leave a rest");
}

TEST(MessageBytes, GetMemoryOnlyWhenTheirFirstChunkIsSound) {
  Message message = example();
  message.parts.push_back(Tensor::full({700'000}, 3));
  const auto chunks = chunks_of(message);
  {
    MessageReader reader(/*asks=*/true);
    std::string damaged = chunks[0];
    damaged.back() = static_cast<char>(damaged.back() ^ 1);
    EXPECT_THROW(feed(reader, damaged), Error);
    EXPECT_EQ(reader.wanted(), 0u);
  }
  MessageReader reader(/*asks=*/true);
  for (int repeat = 0; repeat < 2; ++repeat) {
    for (std::size_t i = 0; i < chunks.size(); ++i) {
      feed(reader, chunks[i]);
      EXPECT_EQ(reader.wanted() > 2'800'000, i == 0);
      if (i == 0) admit(reader, chunks[i]);
    }
    Message got;
    reader.give(got);
    EXPECT_FALSE(reader.refused());
    EXPECT_EQ(got.parts.at(2).to_vector<float>(), message.parts[2].to_vector<float>());
    // What one chunk holds is there already: nobody is asked.
    EXPECT_TRUE(feed(reader, chunks_of(example())[0]));
    EXPECT_EQ(reader.wanted(), 0u);
    reader.give(got);
    EXPECT_EQ(got.parts.size(), 2u);
  }
}

TEST(MessageBytes, AreReadToTheirEndWhenThereIsNoRoomForThem) {
  Message message = example();
  message.parts.push_back(Tensor::full({700'000}, 3));
  const auto chunks = chunks_of(message);
  MessageReader reader(/*asks=*/true);
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    EXPECT_EQ(feed(reader, chunks[i]), i + 1 == chunks.size());
    if (i == 0) reader.refuse("too much");
  }
  EXPECT_TRUE(reader.refused());
  EXPECT_EQ(reader.status(), 1 + static_cast<std::uint32_t>(ErrorCode::ResourceExhausted));
  Message got;
  reader.give(got);
  EXPECT_EQ(got.head.sequence, 5u);
  EXPECT_TRUE(got.parts.empty());
  EXPECT_NE(got.meta.find("too much"), std::string::npos) << got.meta;
  EXPECT_TRUE(feed(reader, chunks_of(example())[0]));
  EXPECT_FALSE(reader.refused());
  EXPECT_EQ(reader.status(), 0u);
  // A sum that is wrong is still found.
  EXPECT_FALSE(feed(reader, chunks[0]));
  reader.refuse("too much");
  std::string damaged = chunks[1];
  damaged.back() = static_cast<char>(damaged.back() ^ 1);
  EXPECT_THROW(feed(reader, damaged), Error);
}

// The head, the specs, the meta and the parts each come in chunks of their own size.
TEST(MessageBytes, AreReadFromChunksOfAnySize) {
  Message message = example();
  message.meta.assign(300, 'm');
  std::string payload;
  for (const std::string& chunk : chunks_of(message)) payload += chunk.substr(sizeof(wire::ChunkHeader));
  for (const std::size_t size : {1, 16, 100, 104, 105, 130, 300}) {
    MessageReader reader(/*asks=*/true);
    bool complete = false;
    std::uint32_t number = 0;
    for (std::size_t at = 0; at < payload.size(); at += size) {
      wire::ChunkHeader header;
      header.number = number++;
      header.total = payload.size();
      std::string chunk(reinterpret_cast<const char*>(&header), sizeof header);
      chunk += payload.substr(at, size);
      mend_sum(chunk);
      ASSERT_FALSE(complete);
      complete = feed(reader, chunk);
      if (reader.wanted() > 0) admit(reader, chunk);
    }
    ASSERT_TRUE(complete) << size;
    Message got;
    reader.give(got);
    EXPECT_EQ(got.meta, message.meta);
    ASSERT_EQ(got.parts.size(), 2u);
    EXPECT_EQ(got.parts[0].to_vector<float>(), message.parts[0].to_vector<float>());
    EXPECT_EQ(got.parts[1].to_strings(), message.parts[1].to_strings());
  }
}

TEST(MessageBytes, NeverCrashTheReader) {
  const std::string good = chunks_of(example())[0];
  std::mt19937 random(3);
  for (int i = 0; i < 20'000; ++i) {
    std::string chunk = good;
    for (int n = 0; n < 1 + i % 4; ++n) {
      chunk[sizeof(wire::ChunkHeader) + random() % (chunk.size() - sizeof(wire::ChunkHeader))] =
          static_cast<char>(random() % 3 == 0 ? 0xff : random());
    }
    if (i % 5 == 0) chunk.resize(21 + random() % (chunk.size() - 21));
    mend_sum(chunk);
    MessageReader reader;
    Message message;
    try {
      if (feed(reader, chunk)) reader.give(message);
    } catch (const Error& error) {
      ASSERT_EQ(error.code(), ErrorCode::DataLoss) << error.what();
    }
  }
}

TEST(MessageBytes, EndOnlyTheirOwnStreamWhenMalformed) {
  rpc::test::EchoService service;
  Listener listener("127.0.0.1:0", service, "worker:1");
  grpc::GenericStub stub(make_channel(listener.address(), 1000ms, grpc::InsecureChannelCredentials()));
  for (const std::string& bytes :
       {std::string("GET / HTTP/1.1\r\n\r\n padded to some length"), std::string(1000, '\0')}) {
    grpc::ClientContext context;
    grpc::CompletionQueue queue;
    auto call = stub.PrepareCall(&context, kMessagesMethod, &queue);
    const auto wait = [&] {
      void* tag = nullptr;
      bool ok = false;
      queue.Next(&tag, &ok);
      return ok;
    };
    call->StartCall(nullptr);
    ASSERT_TRUE(wait());
    const grpc::Slice slice(bytes);
    call->Write(grpc::ByteBuffer(&slice, 1), nullptr);
    wait();
    grpc::ByteBuffer answer;
    call->Read(&answer, nullptr);
    EXPECT_FALSE(wait());
    grpc::Status status;
    call->Finish(&status, nullptr);
    wait();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::DATA_LOSS) << status.error_message();
  }
  auto stream = connect({"worker:1", listener.address()}, {.transport = "grpc"})->open();
  Message request = example(), reply;
  stream->call(request, reply);
  EXPECT_EQ(reply.parts.size(), 2u);
}

}  // namespace
}  // namespace cohort::distribute::rpc
