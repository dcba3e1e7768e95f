// Parts of large messages in memory that both sides map: whose it is when, and that messages come whole either way.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "cohort/distribute/rpc/ring_messages.h"
#include "tests/distribute/rpc/forged_chunks.h"
#include "tests/support/error_of.h"

namespace cohort::distribute::rpc::test {
namespace {

using cohort::test::error_of;
using testing::HasSubstr;

// Both sides of a stream, in one thread.
class SharedBlocksTest : public testing::Test {
 protected:
  SharedBlocks& own() { return made_->own_blocks(); }
  const SharedBlocks& theirs() { return opened_->other_blocks(); }

  const std::unique_ptr<SharedRings> made_ = SharedRings::make();
  const std::unique_ptr<SharedRings> opened_ = SharedRings::open(made_->memory().name());
};

TEST_F(SharedBlocksTest, AreHeldUntilTheOtherSideLetsGo) {
  const auto first = own().give(1000), second = own().give(1 << 20);
  ASSERT_TRUE(first && second);
  EXPECT_GE(second->offset, first->offset + first->bytes);
  std::memset(own().at(*first), 7, 1000);
  {
    const Owned<Buffer> buffer = theirs().hold(*first);
    ASSERT_TRUE(buffer);
    EXPECT_EQ(buffer->bytes(), 1000u);
    EXPECT_EQ(static_cast<const char*>(buffer->data())[999], 7);
    EXPECT_GT(own().give(1000)->offset, second->offset);
  }
  EXPECT_EQ(own().give(1001)->offset, first->offset);
}

TEST_F(SharedBlocksTest, NeverOverlap) {
  std::vector<SharedBlocks::Place> given;
  std::vector<Owned<Buffer>> held;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    const std::uint64_t bytes = 1 + i * 7919 % (4 << 20);
    if (const auto place = own().give(bytes)) {
      EXPECT_LE(place->offset + place->bytes, SharedBlocks::kBytes);
      for (const SharedBlocks::Place& other : given) {
        EXPECT_TRUE(place->offset + place->bytes <= other.offset || other.offset + other.bytes <= place->offset);
        EXPECT_NE(place->number, other.number);
      }
      given.push_back(*place);
      held.push_back(theirs().hold(*place));
    }
    if (i % 3 > 0 && !given.empty()) {
      const auto at = static_cast<std::ptrdiff_t>(i * 31 % given.size());
      given.erase(given.begin() + at);
      held.erase(held.begin() + at);
    }
  }
}

TEST_F(SharedBlocksTest, AreRefusedWhereNoneIsFree) {
  EXPECT_FALSE(own().give(SharedBlocks::kBytes + 1));
  ASSERT_TRUE(own().give(SharedBlocks::kBytes));
  EXPECT_FALSE(own().give(1));
  SharedBlocks& small = opened_->own_blocks();
  for (std::uint32_t i = 0; i < SharedBlocks::kMost; ++i) EXPECT_TRUE(small.give(64));
  EXPECT_FALSE(small.give(64));
}

TEST_F(SharedBlocksTest, LieWithinTheirMemory) {
  const std::uint64_t all = SharedBlocks::kBytes;
  for (const SharedBlocks::Place& place :
       {SharedBlocks::Place{.number = SharedBlocks::kMost, .offset = 0, .bytes = 1},
        SharedBlocks::Place{.number = 0, .offset = 1, .bytes = 1},
        SharedBlocks::Place{.number = 0, .offset = all, .bytes = 1},
        SharedBlocks::Place{.number = 0, .offset = 64, .bytes = all},
        SharedBlocks::Place{.number = 0, .offset = 64, .bytes = ~std::uint64_t{0}},
        SharedBlocks::Place{.number = 0, .offset = ~std::uint64_t{63}, .bytes = 128}}) {
    EXPECT_FALSE(theirs().hold(place)) << place.offset << " " << place.bytes;
  }
}

// What a stream's two sides do, without threads.
class MessagesInBlocks : public SharedBlocksTest {
 protected:
  // Writes and reads by turns until the message is there; calls `asked` where it wants to be admitted.
  void carry(const Message& message, Message& came, const std::function<void()>& asked = {}) {
    writer_.begin(message);
    reader_.expect_sums(false);
    for (bool written = false;;) {
      written = written || out_.put(writer_);
      const Carrier::Came what = in_.take(reader_);
      if (what == Carrier::Came::Message) break;
      if (what == Carrier::Came::Asks) asked();
      ASSERT_FALSE(written && what == Carrier::Came::NotAll) << "nothing more comes";
    }
    ASSERT_TRUE(writer_.done());
    reader_.give(came);
  }
  bool is_in_a_block(const Tensor& part) const {
    const auto* begin = opened_->other_blocks().at({});
    const auto* memory = static_cast<const char*>(part.raw());
    return memory >= begin && memory < begin + SharedBlocks::kBytes;
  }

  RingMessages out_{*made_}, in_{*opened_};
  MessageWriter writer_;
  MessageReader reader_{/*asks=*/true};
  const std::function<void()> admit_ = [this] { reader_.admit(); };
};

Message message_of(std::int64_t floats) {
  Message message;
  message.meta = "about it";
  message.parts = {Tensor::full({floats}, 2.5f), Tensor(), Tensor::of_strings({"a", std::string(9000, 'b')}, {2}),
                   Tensor::full({3}, 4)};
  return message;
}

void expect_whole(const Message& came, const Message& sent) {
  EXPECT_EQ(came.meta, sent.meta);
  ASSERT_EQ(came.parts.size(), sent.parts.size());
  EXPECT_EQ(came.parts[0].to_vector<float>(), sent.parts[0].to_vector<float>());
  EXPECT_FALSE(came.parts[1].defined());
  EXPECT_EQ(static_cast<const std::string*>(came.parts[2].raw())[1], std::string(9000, 'b'));
  EXPECT_EQ(came.parts[3].to_vector<std::int32_t>(), sent.parts[3].to_vector<std::int32_t>());
}

TEST_F(MessagesInBlocks, ComeWholeWhateverTheirSize) {
  const std::int64_t too_many = static_cast<std::int64_t>(SharedBlocks::kBytes / sizeof(float));
  for (const std::int64_t floats : {std::int64_t{1}, std::int64_t{10'000}, std::int64_t{300'001}, too_many}) {
    const Message sent = message_of(floats);
    Message came;
    carry(sent, came, admit_);
    expect_whole(came, sent);
    EXPECT_EQ(is_in_a_block(came.parts[0]), floats > 1 && floats < too_many) << floats;
  }
}

// A header longer than a chunk, and the tensor behind it.
TEST_F(MessagesInBlocks, ComeBehindManyChunks) {
  Message sent = message_of(1 << 20), came;
  sent.meta = std::string(1'000'003, 'm');
  carry(sent, came, admit_);
  expect_whole(came, sent);
}

TEST_F(MessagesInBlocks, TakeAnotherWayWhereAllAreHeld) {
  const Message sent = message_of(5'000'000);  // 20 MB
  std::vector<Message> kept(5);
  for (Message& came : kept) carry(sent, came, admit_);
  for (const Message& came : kept) expect_whole(came, sent);
  EXPECT_TRUE(is_in_a_block(kept[2].parts[0]));
  EXPECT_FALSE(is_in_a_block(kept[3].parts[0]));
  kept[1] = {};
  Message came;
  carry(sent, came, admit_);
  EXPECT_TRUE(is_in_a_block(came.parts[0]));
}

// Its owners may write again when it is on its way.
TEST_F(MessagesInBlocks, KeepNothingOfTheSender) {
  Message sent = message_of(100'000), came;
  carry(sent, came, admit_);
  EXPECT_TRUE(sent.parts[0].buffer()->unique());
}

TEST_F(MessagesInBlocks, OutliveTheStream) {
  std::unique_ptr<SharedRings> made = SharedRings::make(), opened = SharedRings::open(made->memory().name());
  Message came;
  {
    RingMessages out(*made), in(*opened);
    MessageReader reader;
    reader.expect_sums(false);
    writer_.begin(message_of(100'000));
    EXPECT_TRUE(out.put(writer_));
    EXPECT_EQ(in.take(reader), Carrier::Came::Message);
    reader.give(came);
  }
  made.reset();
  opened.reset();
  expect_whole(came, message_of(100'000));
}

TEST_F(MessagesInBlocks, AreLetGoOfWhenTheyAreRefused) {
  Message came;
  carry(message_of(100'000), came, [this] { reader_.refuse("no room"); });
  EXPECT_TRUE(came.parts.empty());
  EXPECT_THAT(came.meta, HasSubstr("no room"));
  EXPECT_EQ(own().give(64)->offset, 0u);
  carry(message_of(100'000), came, admit_);
  expect_whole(came, message_of(100'000));
}

// A place, as it is told.
std::string place_of(std::uint32_t number, std::uint64_t offset, std::uint64_t bytes) {
  std::string told(4, '\xff');
  for (const std::uint64_t value : {std::uint64_t{number}, offset, bytes}) {
    told.append(reinterpret_cast<const char*>(&value), told.size() == 4 ? 4 : 8);
  }
  return told;
}

class ForgedPlaces : public MessagesInBlocks {
 protected:
  std::string error_of_forged(const std::string& bytes) {
    for (const char byte : bytes) {
      made_->room().front() = byte;
      made_->publish(1);
    }
    reader_.expect_sums(false);
    return error_of([&] {
      while (in_.take(reader_) == Carrier::Came::Asks) reader_.admit();
    });
  }
};

TEST_F(ForgedPlaces, BeyondTheMemory) {
  EXPECT_THAT(error_of_forged(place_of(0, 0, SharedBlocks::kBytes + 1)), HasSubstr("a block lies within its memory"));
}
TEST_F(ForgedPlaces, TwoForAMessage) {
  EXPECT_THAT(error_of_forged(place_of(0, 0, 64) + place_of(1, 64, 64)), HasSubstr("once"));
}
TEST_F(ForgedPlaces, InTheMiddleOfAMessage) {
  const std::string begun = chunk_of({.total = 4000}, prologue_of({.head = {}, .meta_bytes = 4000 - 112}));
  EXPECT_THAT(error_of_forged(begun + place_of(0, 0, 64)), HasSubstr("before the message"));
}
TEST_F(ForgedPlaces, OfAnotherSizeThanTheParts) {
  const std::string message = chunk_of({.total = 112}, prologue_of({.head = {}}));
  EXPECT_THAT(error_of_forged(place_of(0, 0, 64) + message), HasSubstr("the parts fill the memory"));
}
TEST_F(ForgedPlaces, OfPartsThatComeInAChunkToo) {
  const wire::PartSpec part{.dtype = static_cast<std::uint8_t>(DType::Float32), .bytes = 4};
  const std::string payload = prologue_of({.head = {}, .parts = 1, .spec_bytes = sizeof part, .data_bytes = 4}) +
                              std::string(reinterpret_cast<const char*>(&part), sizeof part) + "four";
  const std::string message = chunk_of({.total = payload.size()}, payload);
  EXPECT_THAT(error_of_forged(place_of(0, 0, 4) + message), HasSubstr("come in no chunk"));
}
TEST_F(ForgedPlaces, InPieces) {
  const std::string place = place_of(0, 0, SharedBlocks::kBytes + 1);
  EXPECT_EQ(error_of_forged(place.substr(0, 10)), "");
  EXPECT_FALSE(in_.has_come());
  EXPECT_THAT(error_of_forged(place.substr(10)), HasSubstr("a block lies within its memory"));
}

}  // namespace
}  // namespace cohort::distribute::rpc::test
