#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/datasets/elements.h"

namespace cohort {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(Dataset, SaysWhatIsMissing) {
  EXPECT_THAT([] { Dataset().batch(2); }, ThrowsMessage<Error>(HasSubstr("from_tensor_slices")));
  EXPECT_THAT([] { Dataset::make("zebra", {}, {}); },
              ThrowsMessage<Error>(HasSubstr("kind='zebra'. Known kinds: assert_cardinality, batch, ")));
  EXPECT_THROW(Dataset::make("batch", {}, {{"batch_size", 3}}), Error);
  EXPECT_THROW(Dataset::make("batch", {datasets::range(3)}, {}), Error);
}

TEST(Dataset, AppliesWhatMakesOneDatasetOfAnother) {
  const Dataset ten = datasets::range(10);
  EXPECT_EQ(datasets::test::numbers(ten.apply(datasets::take(4))), datasets::test::numbers(ten.take(4)));
  EXPECT_THAT(datasets::test::numbers(ten.apply([](const Dataset& data) { return data.skip(2).take(3); })),
              ElementsAre(2, 3, 4));
  EXPECT_THAT(datasets::test::numbers(ten.apply(datasets::shard(5, 1)).repeat(2)), ElementsAre(1, 6, 1, 6));
  EXPECT_THAT([&] { ten.apply(nullptr); }, ThrowsMessage<Error>(HasSubstr("Dataset.apply: a transform is expected")));
}

TEST(Dataset, AppliesAShuffleWithASeedOfItsOwnEachTime) {
  const DatasetTransform shuffle = datasets::shuffle(10);
  const Dataset ten = datasets::range(10);
  EXPECT_NE(datasets::test::numbers(ten.apply(shuffle)), datasets::test::numbers(ten.apply(shuffle)));
}

TEST(ParseDataset, RefusesDamagedBytes) {
  const std::string bytes = serialize(datasets::test::rows(5).shuffle(3).batch(2));
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    try {  // what is cut between two stages is a dataset still
      parse_dataset(bytes.substr(0, length));
    } catch (const Error&) {
    }
  }
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x41);
    try {
      datasets::test::all(parse_dataset(damaged).take(10));
    } catch (const Error&) {
    }
  }
  EXPECT_THROW(parse_dataset(""), Error);
  EXPECT_THROW(parse_dataset("what is this"), Error);
}

}  // namespace
}  // namespace cohort
