// Trainings on a device with memory of its own: batches are made where it copies them from.
#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>
#include <ostream>
#include <set>

#include "cohort/core/buffer.h"
#include "cohort/core/random.h"
#include "cohort/datasets/datasets.h"
#include "cohort/datasets/transforms/transform.h"
#include "cohort/layers/layers.h"
#include "cohort/model/sequential.h"
#include "cohort/ops/math.h"
#include "tests/model/small_models.h"

namespace cohort {
namespace {

constexpr std::int64_t kMemoryRows = 256, kMemoryWidth = 1024, kMemoryBatch = 32;

// What a stage was asked to fill: whether it was memory for a device, and where.
struct AskedToFill {
  std::mutex mutex;
  std::vector<bool> pinned;
  std::set<const void*> memory;
} asked_to_fill;

class WatchedIterator : public datasets::TransformIterator {
 public:
  using TransformIterator::TransformIterator;
  bool next(Tensors& element) override {
    if (element.size() == 2 && element[0].defined() && element[0].buffer()) {
      std::lock_guard lock(asked_to_fill.mutex);
      asked_to_fill.pinned.push_back(element[0].buffer()->pinned_for() == &default_device());
      asked_to_fill.memory.insert(element[0].raw());
    }
    return input_->next(element);
  }
  void rewind() override { input_->rewind(); }
  void save_to(StateWriter& state) const override { input_->save_to(state); }
  void restore_from(StateReader& state) override { input_->restore_from(state); }
};

class WatchedStage : public datasets::TransformStage {
 public:
  explicit WatchedStage(const std::vector<Dataset>& inputs) : TransformStage("watched", inputs) {}
  std::int64_t cardinality() const override { return input().cardinality(); }
  std::unique_ptr<DatasetIterator> iterator() const override {
    return std::make_unique<WatchedIterator>(input().make_iterator());
  }
};

COHORT_DATASET("test_watched", [](const std::vector<Dataset>& inputs, const Attributes&) {
  return std::make_shared<WatchedStage>(inputs);
});

Dataset memory_rows() {
  std::vector<float> x(static_cast<std::size_t>(kMemoryRows * kMemoryWidth)), y(kMemoryRows);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 7919 % 251) / 251 - 0.5f;
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = static_cast<float>(i % 5);
  return datasets::from_tensor_slices(Tensor::of(x, {kMemoryRows, kMemoryWidth}, cpu()),
                                      Tensor::of(y, {kMemoryRows, 1}, cpu()))
      .shuffle(kMemoryRows, {.seed = 3});
}

const auto kScalePairs = [](Tensor x, Tensor y) { return std::tuple(x * 0.5, y); };

Dataset watched(const Dataset& data) { return Dataset::make("test_watched", {data}, {}); }

std::vector<float> train_with(const Dataset& data, std::int64_t steps_per_execution) {
  asked_to_fill.pinned.clear();
  asked_to_fill.memory.clear();
  set_random_seed(11);
  Sequential model({layers::Dense(4, {.activation = "tanh"}), layers::Dense(1)});
  model.compile({.optimizer = "adam", .loss = "mse", .steps_per_execution = steps_per_execution});
  model.fit(data, {.epochs = 12, .verbose = 0});
  return testing_models::all_weights(model);
}

struct MemoryCase {
  const char* name;
  Dataset (*make)();
};

std::ostream& operator<<(std::ostream& out, const MemoryCase& each) { return out << each.name; }

class BatchMemory : public testing::TestWithParam<MemoryCase> {};

const MemoryCase kMemoryCases[] = {
    {"Batches", [] { return watched(memory_rows().batch(kMemoryBatch)); }},
    {"BatchesOfMappedRows", [] { return watched(memory_rows().map(kScalePairs).batch(kMemoryBatch)); }},
    {"MappedBatches", [] { return watched(memory_rows().batch(kMemoryBatch).map(kScalePairs)); }},
    {"PrefetchedBatches", [] { return watched(memory_rows().batch(kMemoryBatch)).prefetch(3); }},
    {"ALastBatchThatIsSmaller", [] { return watched(memory_rows().batch(50)).prefetch(2); }},
};
INSTANTIATE_TEST_SUITE_P(Chains, BatchMemory, testing::ValuesIn(kMemoryCases),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(BatchMemory, IsThatFromWhichTheDeviceCopies) {
  const std::string before = default_device().name();
  if (before == "CPU:0") set_default_device("TEST:6");
  for (const std::int64_t steps : {1, 4}) {
    train_with(GetParam().make(), steps);
    const std::vector<bool>& pinned = asked_to_fill.pinned;
    ASSERT_GT(pinned.size(), 60u);
    // The first execution's, and once what a prefetch has in each of its slots, whenever it first uses that.
    EXPECT_LE(std::count(pinned.begin(), pinned.end(), false), 16) << steps;
    EXPECT_LE(asked_to_fill.memory.size(), 40u) << steps << ": it goes round";
  }
  set_default_device(before);
}

TEST_P(BatchMemory, IsNotWrittenBeforeItsStep) {
  const std::string before = default_device().name();
  if (before != "CPU:0") GTEST_SKIP() << "other devices round differently";
  const std::vector<float> expected = train_with(GetParam().make(), 1);
  EXPECT_GT(asked_to_fill.pinned.size(), 60u);
  EXPECT_TRUE(std::none_of(asked_to_fill.pinned.begin(), asked_to_fill.pinned.end(), [](bool each) { return each; }));
  set_default_device("TEST:6");
  for (const std::int64_t steps : {1, 4}) EXPECT_EQ(train_with(GetParam().make(), steps), expected) << steps;
  set_default_device(before);
}

}  // namespace
}  // namespace cohort
