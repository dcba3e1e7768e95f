#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "tests/datasets/elements.h"

namespace cohort::datasets::test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

// Numbers, each of which takes a while; every `damaged`-th cannot be given.
class TimedIterator : public DatasetIterator {
 public:
  TimedIterator(std::int64_t count, std::int64_t microseconds, std::int64_t damaged)
      : count_(count), microseconds_(microseconds), damaged_(damaged) {}
  bool next(Tensors& element) override {
    if (next_ == count_) return false;
    if (microseconds_ > 0) std::this_thread::sleep_for(std::chrono::microseconds(microseconds_));
    const std::int64_t value = next_++;
    if (damaged_ > 0 && value % damaged_ == damaged_ - 1) throw Error(ErrorCode::DataLoss, "timed: damaged");
    element.assign(1, Tensor::of<std::int64_t>({value}, {}, cpu()));
    return true;
  }
  void rewind() override { next_ = 0; }
  void save_to(StateWriter& state) const override { state.number(static_cast<std::uint64_t>(next_)); }
  void restore_from(StateReader& state) override { next_ = static_cast<std::int64_t>(state.number()); }

 private:
  std::int64_t count_, microseconds_, damaged_, next_ = 0;
};

class TimedStage : public DatasetStage {
 public:
  explicit TimedStage(const Attributes& attributes) : attributes_(attributes) {}
  const ElementSpec& element_spec() const override { return spec_; }
  std::int64_t cardinality() const override { return kUnknownCardinality; }
  std::unique_ptr<DatasetIterator> iterator() const override {
    return std::make_unique<TimedIterator>(attributes_.get<std::int64_t>("count"),
                                           attributes_.get<std::int64_t>("microseconds"),
                                           attributes_.get<std::int64_t>("damaged"));
  }

 private:
  Attributes attributes_;
  ElementSpec spec_ = TensorSpec{DType::Int64, {}};
};

COHORT_DATASET("test_timed", [](const std::vector<Dataset>&, const Attributes& attributes) {
  return std::make_shared<TimedStage>(attributes);
});

Dataset timed(std::int64_t count, std::int64_t microseconds = 0, std::int64_t damaged = 0) {
  return Dataset::make("test_timed", {}, {{"count", count}, {"microseconds", microseconds}, {"damaged", damaged}});
}

std::vector<std::string> names(const DatasetStats& stats) {
  std::vector<std::string> names;
  for (const StageStats& stage : stats)
    names.push_back(std::string(static_cast<std::size_t>(stage.depth), '-') + stage.stage);
  return names;
}

void walk(DatasetIterator& iterator) {
  Tensors element;
  while (iterator.next(element)) {
  }
}

TEST(StageStats, CountElementsAndBytesOfEachStage) {
  auto iterator = timed(1000).shuffle(8).batch(16).make_iterator();
  EXPECT_THAT(names(iterator->stats()), ElementsAre("batch", "-shuffle", "--test_timed"));
  EXPECT_EQ(iterator->stats()[0].elements, 0u);
  walk(*iterator);
  const DatasetStats stats = iterator->stats();
  EXPECT_EQ(stats[0].elements, 63u);
  EXPECT_EQ(stats[1].elements, 1000u);
  EXPECT_EQ(stats[2].elements, 1000u);
  EXPECT_GT(stats[0].elements_per_second, 0);
  // The bytes are measured on some of the elements.
  EXPECT_NEAR(stats[2].bytes, 8000, 4000);
  iterator->rewind();
  walk(*iterator);
  EXPECT_EQ(iterator->stats()[2].elements, 2000u) << "passes add up";
}

TEST(StageStats, StagesThatReadByNumberCountAsOne) {
  auto iterator = rows(100).shuffle(100).batch(10).make_iterator();
  walk(*iterator);
  const DatasetStats stats = iterator->stats();
  EXPECT_THAT(names(stats), ElementsAre("batch(shuffle(tensor_slices))"));
  EXPECT_EQ(stats[0].elements, 10u);
}

TEST(StageStats, InputsFollowTheirStage) {
  auto iterator = Dataset::zip({timed(10), timed(20).take(15)}).make_iterator();
  walk(*iterator);
  const DatasetStats stats = iterator->stats();
  EXPECT_THAT(names(stats), ElementsAre("zip", "-test_timed", "-take", "--test_timed"));
  EXPECT_EQ(stats[0].elements, 10u);
  EXPECT_EQ(stats[1].elements, 10u);
}

TEST(StageStats, OwnTimeIsWithoutThatOfTheInputs) {
  auto iterator = timed(60, 500).batch(20).make_iterator();
  walk(*iterator);
  const DatasetStats stats = iterator->stats();
  EXPECT_GT(stats[1].own_seconds, 0.030);
  EXPECT_GT(stats[0].seconds_waiting_for_input, 0.030);
  EXPECT_LT(stats[0].own_seconds, stats[1].own_seconds / 2);
  EXPECT_EQ(slowest_stage(stats)->stage, "test_timed");
  EXPECT_EQ(slowest_stage({}), nullptr);
}

TEST(StageStats, PrefetchWaitsForItsInputAndIsNotSlowItself) {
  auto iterator = timed(60, 500).prefetch(4).make_iterator();
  walk(*iterator);
  const DatasetStats stats = iterator->stats();
  EXPECT_THAT(names(stats), ElementsAre("prefetch", "-test_timed"));
  EXPECT_GT(stats[0].seconds_waiting_for_input, 0.020);
  EXPECT_EQ(slowest_stage(stats)->stage, "test_timed");
}

TEST(StageStats, OwnBudgetsHoldStagesBack) {
  const auto ahead = [](std::int64_t ram_budget) {
    auto iterator = timed(100, 200).prefetch(kAutotune).with_options({.ram_budget = ram_budget}).make_iterator();
    walk(*iterator);
    const DatasetStats stats = iterator->stats();
    const auto prefetch =
        std::find_if(stats.begin(), stats.end(), [](const auto& each) { return each.stage == "prefetch"; });
    return prefetch == stats.end() ? 0 : prefetch->parallelism;
  };
  EXPECT_GT(ahead(1 << 20), ahead(1));
}

TEST(StageStats, SlowConsumersLeaveStagesIdle) {
  auto iterator = timed(20).batch(1).make_iterator();
  Tensors element;
  while (iterator->next(element)) std::this_thread::sleep_for(1ms);
  const StageStats batch = iterator->stats()[0];
  EXPECT_GT(batch.seconds_waiting_for_consumer, 0.010);
  EXPECT_GT(batch.seconds_waiting_for_consumer, 5 * batch.own_seconds);
}

TEST(StageStats, ErrorsCountWhereTheyComeOut) {
  auto iterator = timed(100, 0, 10).ignore_errors().batch(9).make_iterator();
  walk(*iterator);
  const DatasetStats stats = iterator->stats();
  EXPECT_EQ(stats[0].errors, 0u);
  EXPECT_EQ(stats[1].errors, 0u);
  EXPECT_EQ(stats[1].elements, 90u);
  EXPECT_EQ(stats[2].errors, 10u);
  EXPECT_EQ(stats[2].elements, 90u);
}

TEST(StageStats, ElementsThatAreSkippedDoNotCount) {
  auto iterator = timed(100).take(50).make_iterator();
  EXPECT_EQ(iterator->skip(30), 30u);
  walk(*iterator);
  EXPECT_EQ(iterator->stats()[0].elements, 20u);
}

// Few calls are timed where elements are cheap; what is measured stands for all.
TEST(StageStats, TimesOfCheapElementsAreOfTheRightSize) {
  auto iterator = timed(300'000).batch(100).make_iterator();
  const auto begin = std::chrono::steady_clock::now();
  walk(*iterator);
  const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const DatasetStats stats = iterator->stats();
  const double sum = stats[0].own_seconds + stats[1].own_seconds;
  EXPECT_GT(sum, took / 3);
  EXPECT_LT(sum, took * 3);
}

TEST(StageStats, ATableForPeople) {
  const DatasetStats stats{{.stage = "batch", .elements = 12, .own_seconds = 0.5, .errors = 3},
                           {.stage = "range", .depth = 1, .elements = 345}};
  const std::string table = to_string(stats);
  EXPECT_THAT(table, HasSubstr("stage      elements"));
  EXPECT_THAT(table, HasSubstr("batch            12"));
  EXPECT_THAT(table, HasSubstr("  range         345"));
  EXPECT_THAT(table, HasSubstr("0.500"));
}

TEST(StageStats, AreAskedOfIteratorsToo) {
  Iterator iterator = range(5).iterator();
  iterator.next();
  EXPECT_EQ(iterator.stats().at(0).elements, 1u);
}

}  // namespace
}  // namespace cohort::datasets::test
