#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "cohort/core/random.h"
#include "tests/datasets/walking.h"

namespace cohort::datasets::test {
namespace {

using testing::ElementsAre;
using testing::ThrowsMessage;
using Lists = std::vector<std::vector<std::int64_t>>;

// By row number and by whole elements: two ways through the same code.
std::vector<Dataset> both(std::int64_t count) { return {rows(count), range(count)}; }

TEST(Take, SkipAndShardChoose) {
  for (const Dataset& ten : both(10)) {
    EXPECT_THAT(numbers(ten.take(3)), ElementsAre(0, 1, 2));
    EXPECT_EQ(numbers(ten.take(30)).size(), 10u);
    EXPECT_EQ(numbers(ten.take(-1)).size(), 10u);
    EXPECT_THAT(numbers(ten.take(0)), ElementsAre());
    EXPECT_THAT(numbers(ten.skip(8)), ElementsAre(8, 9));
    EXPECT_THAT(numbers(ten.skip(11)), ElementsAre());
    EXPECT_THAT(numbers(ten.repeat().skip(-1)), ElementsAre());
    EXPECT_THAT(numbers(ten.shard(4, 0)), ElementsAre(0, 4, 8));
    EXPECT_THAT(numbers(ten.shard(4, 3)), ElementsAre(3, 7));
    EXPECT_THAT(numbers(ten.shard(1, 0)), numbers(ten));
    EXPECT_THAT(numbers(ten.shard(20, 15)), ElementsAre());
    EXPECT_EQ(ten.shard(4, 1).cardinality(), 3);
    EXPECT_EQ(ten.shard(4, 2).cardinality(), 2);
  }
  EXPECT_THAT([] { range(3).shard(2, 2); },
              ThrowsMessage<Error>("Dataset.shard: at least one shard and an index in [0, num_shards) are expected. "
                                   "Received: num_shards=2, index=2."));
  EXPECT_THROW(range(3).shard(0, 0), Error);
  EXPECT_THROW(range(3).shard(2, -1), Error);
}

TEST(Repeat, StartsOver) {
  for (const Dataset& three : both(3)) {
    EXPECT_THAT(numbers(three.repeat(2)), ElementsAre(0, 1, 2, 0, 1, 2));
    EXPECT_THAT(numbers(three.repeat(0)), ElementsAre());
    EXPECT_THAT(numbers(*three.repeat().walk(), 7), ElementsAre(0, 1, 2, 0, 1, 2, 0));
    EXPECT_EQ(three.repeat().cardinality(), kInfiniteCardinality);
    EXPECT_EQ(three.repeat(5).cardinality(), 15);
    EXPECT_THAT(all(three.repeat(2).batch(4)), ElementsAre(ElementsAre(0, 1, 2, 0), ElementsAre(1, 2)));
  }
  for (const Dataset& none : both(0)) EXPECT_THAT(numbers(none.repeat()), ElementsAre()) << "and it ends";
}

TEST(Shuffle, GivesEveryElementOnceInAnotherOrderEachEpoch) {
  std::vector<std::int64_t> sorted(100);
  std::iota(sorted.begin(), sorted.end(), 0);
  for (const Dataset& source : both(100)) {
    for (std::int64_t buffer : {2, 10, 100, 1000000}) {
      auto walker = source.shuffle(buffer, {.seed = 1}).walk();
      std::vector<std::int64_t> first = numbers(*walker);
      walker->rewind();
      std::vector<std::int64_t> second = numbers(*walker);
      EXPECT_NE(first, second);
      EXPECT_NE(first, sorted);
      EXPECT_TRUE(std::ranges::is_permutation(first, sorted));
      EXPECT_TRUE(std::ranges::is_permutation(second, sorted));
      for (std::size_t i = 0; i < first.size(); ++i) EXPECT_LT(first[i], static_cast<std::int64_t>(i) + buffer);
    }
  }
}

TEST(Shuffle, FollowsItsSeedAlone) {
  const auto order = [](std::int64_t seed, const Dataset& source) {
    return numbers(source.shuffle(50, {.seed = seed}));
  };
  EXPECT_EQ(order(1, rows(50)), order(1, rows(50)));
  EXPECT_EQ(order(1, rows(50)), order(1, range(50))) << "row numbers and elements are drawn alike";
  EXPECT_NE(order(1, rows(50)), order(2, rows(50)));
  set_random_seed(7);
  const auto first = numbers(rows(50).shuffle(50));
  const auto second = numbers(rows(50).shuffle(50));
  set_random_seed(7);
  EXPECT_EQ(numbers(rows(50).shuffle(50)), first);
  EXPECT_EQ(numbers(rows(50).shuffle(50)), second);
  EXPECT_NE(first, second);
}

TEST(Shuffle, ANewIteratorReshufflesUnlessToldNotTo) {
  const Dataset again = rows(50).shuffle(50, {.seed = 1});
  EXPECT_NE(numbers(again), numbers(again));
  const Dataset once = rows(50).shuffle(50, {.seed = 1, .reshuffle_each_iteration = false});
  EXPECT_EQ(numbers(once), numbers(once));
  const auto twice = numbers(once.repeat(2));
  EXPECT_TRUE(std::equal(twice.begin(), twice.begin() + 50, twice.begin() + 50));
}

TEST(Shuffle, IsFair) {
  // Each of 4 elements comes first in about a quarter of 4000 epochs: 5 standard deviations are 137.
  auto walker = rows(4).shuffle(4, {.seed = 3}).walk();
  std::array<int, 4> first{};
  for (int epoch = 0; epoch < 4000; ++epoch) {
    ++first[static_cast<std::size_t>(numbers(*walker)[0])];
    walker->rewind();
  }
  for (int count : first) EXPECT_NEAR(count, 1000, 137);
}

TEST(Shuffle, RefusesAnEmptyBuffer) { EXPECT_THROW(range(3).shuffle(0), Error); }

TEST(Batch, KeepsOrDropsTheRemainder) {
  for (const Dataset& seven : both(7)) {
    EXPECT_EQ(all(seven.batch(3)), (Lists{{0, 1, 2}, {3, 4, 5}, {6}}));
    EXPECT_EQ(all(seven.batch(3, {.drop_remainder = true})), (Lists{{0, 1, 2}, {3, 4, 5}}));
    EXPECT_EQ(all(seven.batch(10)), (Lists{{0, 1, 2, 3, 4, 5, 6}}));
    EXPECT_EQ(all(seven.batch(std::int64_t{1} << 60)).size(), 1u);
    EXPECT_TRUE(all(seven.batch(8, {.drop_remainder = true})).empty());
    EXPECT_EQ(to_string(seven.batch(3).element_spec()), "int64(None,)");
    EXPECT_EQ(to_string(seven.batch(3, {.drop_remainder = true}).element_spec()), "int64(3,)");
    EXPECT_EQ(seven.batch(3).cardinality(), 3);
    EXPECT_EQ(seven.batch(3, {.drop_remainder = true}).cardinality(), 2);
    EXPECT_EQ(seven.batch(2).batch(2).iterator().next().leaf().shape(), Shape({2, 2}));
  }
  EXPECT_THAT(
      [] { range(3).batch(0); },
      ThrowsMessage<Error>("Dataset.batch: a batch of at least one element is expected. Received: batch_size=0."));
}

TEST(Batch, OfRowsInOrderIsAViewAndOtherwiseACopy) {
  const Tensor x = Tensor::of<float>({0, 1, 2, 3, 4, 5, 6, 7}, {4, 2}, cpu());
  auto walker = from_tensor_slices(x).batch(2).walk();
  Tensors element;
  walker->next(element);
  walker->next(element);
  EXPECT_EQ(element[0].raw(), x.rows(2, 2).raw());
  const Tensor mixed = from_tensor_slices(x).shuffle(4, {.seed = 2}).batch(4).iterator().next().leaf();
  EXPECT_NE(mixed.raw(), x.raw());
  const std::vector<float> values = mixed.to_vector<float>();
  for (std::size_t row = 0; row < 4; ++row) EXPECT_EQ(values[2 * row] + 1, values[2 * row + 1]) << "rows stay whole";
}

TEST(Batch, RefusesElementsOfDifferentShapes) {
  EXPECT_THAT([] { all(range(5).batch(2).batch(3)); },
              ThrowsMessage<Error>(testing::HasSubstr("Received: first=int64(2,), other=int64(1,)")));
}

TEST(Cache, ReadsItsInputOnceAndHandsTheSameTensorsOut) {
  const Dataset dataset = rows(10).shuffle(10, {.seed = 1}).batch(4).cache();
  auto walker = dataset.walk();
  std::vector<Tensors> first;
  Tensors element;
  while (walker->next(element)) first.push_back(element);
  for (auto& again : {dataset.walk().release(), walker.release()}) {
    std::unique_ptr<DatasetIterator> owner(again);
    owner->rewind();
    for (const Tensors& expected : first) {
      ASSERT_TRUE(owner->next(element));
      EXPECT_TRUE(element[0].same_as(expected[0]));
    }
    EXPECT_FALSE(owner->next(element));
  }
}

TEST(Cache, TakesUpAPassThatWasLeftHalfWay) {
  for (const Dataset& source : both(6)) {
    auto walker = source.cache().walk();
    EXPECT_THAT(numbers(*walker, 2), ElementsAre(0, 1));
    walker->rewind();
    EXPECT_THAT(numbers(*walker), ElementsAre(0, 1, 2, 3, 4, 5));
  }
}

TEST(Enumerate, Counts) {
  const Dataset dataset = range(5, 8).enumerate();
  EXPECT_EQ(to_string(dataset.element_spec()), "(int64(), int64())");
  EXPECT_EQ(all(dataset, 0), (Lists{{0}, {1}, {2}}));
  EXPECT_EQ(all(dataset, 1), (Lists{{5}, {6}, {7}}));
}

TEST(InputContext, DividesTheBatch) {
  const InputContext context{.num_input_pipelines = 2, .input_pipeline_id = 1, .num_replicas_in_sync = 4};
  EXPECT_EQ(context.get_per_replica_batch_size(64), 16);
  EXPECT_THROW(context.get_per_replica_batch_size(65), Error);
  EXPECT_THROW(context.get_per_replica_batch_size(0), Error);
  const DatasetCreator creator(
      [](const InputContext& c) { return range(10).shard(c.num_input_pipelines, c.input_pipeline_id); });
  EXPECT_THAT(numbers(creator(context)), ElementsAre(1, 3, 5, 7, 9));
  EXPECT_THROW(DatasetCreator([](const InputContext&) { return Dataset(); })(context), Error);
}

}  // namespace
}  // namespace cohort::datasets::test
