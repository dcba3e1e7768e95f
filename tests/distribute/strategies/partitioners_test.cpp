#include "cohort/distribute/strategies/partitioners.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/error_of.h"

namespace cohort::distribute {
namespace {

using cohort::test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(FixedShardsPartitioner, NeverMoreShardsThanRows) {
  EXPECT_THAT(FixedShardsPartitioner(8)({3, 2}, float32), ElementsAre(3, 1));
  EXPECT_THAT(FixedShardsPartitioner(2)({3, 2}, float32), ElementsAre(2, 1));
  EXPECT_THAT(FixedShardsPartitioner(2)({3, 5}, float32, 1), ElementsAre(1, 2));
  EXPECT_THAT(FixedShardsPartitioner(2)({0, 2}, float32), ElementsAre(1, 1));
}

TEST(MinSizePartitioner, FillsShardsUpToTheirNumber) {
  EXPECT_THAT(MinSizePartitioner({.max_shards = 100})({1024, 1024}, float32), ElementsAre(16, 1));
  EXPECT_THAT(MinSizePartitioner({.max_shards = 2})({1024, 1024}, float32), ElementsAre(2, 1));
  EXPECT_THAT(MinSizePartitioner()({1024, 1024}, float32), ElementsAre(1, 1));
  EXPECT_THAT(MinSizePartitioner({.min_shard_bytes = 1, .max_shards = 100})({6, 1}, float32), ElementsAre(6, 1));
  EXPECT_THAT(MinSizePartitioner({.min_shard_bytes = 32, .max_shards = 100})({6}, string), ElementsAre(3));
}

TEST(MinSizePartitioner, NoShardIsSmallerThanAsked) {
  // 300 KiB cannot be two shards of 256 KiB.
  EXPECT_THAT(MinSizePartitioner({.max_shards = 100})({300, 256}, float32), ElementsAre(1, 1));
  for (const std::int64_t rows : {1, 2, 7, 13, 100, 101}) {
    for (const std::int64_t min_bytes : {1, 8, 12, 13, 100, 1000}) {
      const Partitioner partitioner = MinSizePartitioner({.min_shard_bytes = min_bytes, .max_shards = 1000});
      const std::vector<std::int64_t> sizes = partition_sizes(partitioner, {rows, 3}, float32);
      const std::int64_t smallest = *std::min_element(sizes.begin(), sizes.end()) * 12;
      EXPECT_TRUE(sizes.size() == 1 || smallest >= min_bytes) << rows << " rows, " << min_bytes << " bytes";
      const std::int64_t more = static_cast<std::int64_t>(sizes.size()) + 1;
      EXPECT_TRUE(more > rows || rows / more * 12 < min_bytes) << "one more would have fitted";
    }
  }
}

TEST(MaxSizePartitioner, NoShardIsBiggerThanAskedUnlessARowIs) {
  EXPECT_THAT(MaxSizePartitioner(4)({6, 1}, float32), ElementsAre(6, 1));
  EXPECT_THAT(MaxSizePartitioner(10)({6, 1}, float32), ElementsAre(3, 1));
  EXPECT_THAT(MaxSizePartitioner(1)({6, 1}, float32), ElementsAre(6, 1));
  EXPECT_THAT(MaxSizePartitioner(24)({6, 1}, float32), ElementsAre(1, 1));
  EXPECT_THAT(MaxSizePartitioner(4, {.max_shards = 2})({6, 1}, float32), ElementsAre(2, 1));
  EXPECT_THAT(MaxSizePartitioner(32)({6}, string), ElementsAre(3));
  EXPECT_THAT(MaxSizePartitioner(32, {.bytes_per_string = 32})({6}, string), ElementsAre(6));
}

TEST(Partitioners, AVariableWithoutElementsIsOneShard) {
  EXPECT_THAT(MinSizePartitioner({.max_shards = 8})({0, 4}, float32), ElementsAre(1, 1));
  EXPECT_THAT(MinSizePartitioner({.max_shards = 8})({4, 0}, float32), ElementsAre(1, 1));
  EXPECT_THAT(MaxSizePartitioner(16)({0, 4}, float32), ElementsAre(1, 1));
  EXPECT_THAT(MaxSizePartitioner(16)({4, 0}, float32), ElementsAre(1, 1));
  EXPECT_THAT(partition_sizes(FixedShardsPartitioner(2), {0, 4}, float32), ElementsAre(0));
}

TEST(Partitioners, RefuseNumbersBelowOneAndUnknownShapes) {
  EXPECT_THAT(error_of([] { FixedShardsPartitioner(0); }), HasSubstr("num_shards must be 1 or more. Received: num_s"));
  EXPECT_THAT(error_of([] { MinSizePartitioner({.min_shard_bytes = 0}); }), HasSubstr("min_shard_bytes=0"));
  EXPECT_THAT(error_of([] { MinSizePartitioner({.max_shards = 0}); }), HasSubstr("max_shards=0"));
  EXPECT_THAT(error_of([] { MinSizePartitioner({.bytes_per_string = -1}); }), HasSubstr("bytes_per_string=-1"));
  EXPECT_THAT(error_of([] { MaxSizePartitioner(0); }), HasSubstr("max_shard_bytes=0"));
  EXPECT_THAT(error_of([] { MaxSizePartitioner(1, {.max_shards = 0}); }), HasSubstr("max_shards=0"));
  EXPECT_THAT(error_of([] { FixedShardsPartitioner(2)({kUnknown, 2}, float32); }), HasSubstr("shape=(None, 2)"));
}

TEST(PartitionSizes, GivesTheFirstShardsOneMoreRow) {
  EXPECT_THAT(rows_per_shard(13, 5), ElementsAre(3, 3, 3, 2, 2));
  EXPECT_THAT(rows_per_shard(3, 8), ElementsAre(1, 1, 1));
  EXPECT_THAT(rows_per_shard(0, 8), ElementsAre(0));
  EXPECT_THAT(partition_sizes(FixedShardsPartitioner(5), {13, 2}, float32), ElementsAre(3, 3, 3, 2, 2));
  EXPECT_THAT(partition_sizes({}, {13, 2}, float32), ElementsAre(13));
  EXPECT_THAT(partition_sizes(FixedShardsPartitioner(5), {}, float32), ElementsAre(1));
}

TEST(PartitionSizes, CutsOnlyTheFirstAxis) {
  const auto returning = [](std::vector<std::int64_t> counts) {
    return [counts](const Shape&, DType, int) { return counts; };
  };
  const auto problem = [&](std::vector<std::int64_t> counts) {
    return error_of([&] { partition_sizes(returning(counts), {4, 4}, float32, "dense/kernel"); });
  };
  EXPECT_EQ(problem({2, 1}), "");
  EXPECT_THAT(problem({1, 2}), HasSubstr("variable_partitioner for 'dense/kernel': only axis 0 can be cut. Received: "
                                         "partitions=[1, 2], shape=(4, 4)."));
  EXPECT_THAT(problem({2}), HasSubstr("one count per axis"));
  EXPECT_THAT(problem({2, 1, 1}), HasSubstr("one count per axis"));
  EXPECT_THAT(problem({0, 1}), HasSubstr("every count must be 1 or more"));
}

}  // namespace
}  // namespace cohort::distribute
