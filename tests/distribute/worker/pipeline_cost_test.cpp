// A worker that stands before a lease skips to it, unless the lease's saved position is reached sooner.
#include <gtest/gtest.h>

#include <chrono>

#include "cohort/distribute/worker/pipelines.h"

namespace cohort::distribute {
namespace {

using namespace std::chrono_literals;

// What iterators of the source below did, and what that takes.
struct Toll {
  std::chrono::microseconds skipping{0}, restoring{0};  // each element passed by, each state
  int skipped = 0, restored = 0;
  Pipeline::Clock::time_point now{};  // time goes by as it is taken, whatever else the machine does
};
Toll* current_toll = nullptr;

class TolledIterator : public DatasetIterator {
 public:
  bool next(Tensors& element) override {
    element = {Tensor::of(std::vector<std::int64_t>{static_cast<std::int64_t>(next_++)}, {1})};
    return true;
  }
  std::uint64_t skip(std::uint64_t count) override {
    current_toll->skipped += static_cast<int>(count);
    current_toll->now += current_toll->skipping * count;
    next_ += count;
    return count;
  }
  void rewind() override { next_ = 0; }
  std::optional<ElementKey> key() const override { return std::nullopt; }
  void save_to(StateWriter& state) const override { state.number(next_); }
  void restore_from(StateReader& state) override {
    ++current_toll->restored;
    current_toll->now += current_toll->restoring;
    next_ = state.number();
  }

 private:
  std::uint64_t next_ = 0;
};

class TolledStage : public DatasetStage {
 public:
  const ElementSpec& element_spec() const override { return spec_; }
  std::int64_t cardinality() const override { return kInfiniteCardinality; }
  std::unique_ptr<DatasetIterator> iterator() const override { return std::make_unique<TolledIterator>(); }

 private:
  ElementSpec spec_ = TensorSpec{DType::Int64, {1}};
};

COHORT_DATASET("tolled",
               [](const std::vector<Dataset>&, const Attributes&) { return std::make_shared<TolledStage>(); });

std::string state_before(std::uint64_t element) {
  const auto iterator = Dataset::make("tolled", {}, {}).make_iterator();
  Tensors values;
  for (std::uint64_t i = 0; i < element; ++i) iterator->next(values);
  return iterator->save();
}

// Takes every 10th element, each with a state right before it; all must be what they are.
void take_every_tenth(Toll& toll, int leases) {
  current_toll = &toll;
  Pipeline pipeline(Dataset::make("tolled", {}, {}), {}, [&] { return toll.now; });
  Tensors element;
  for (int i = 0; i < leases; ++i) {
    const auto first = static_cast<std::uint64_t>(10 * i);
    ASSERT_TRUE(pipeline.seek({.first = first, .state_at = first, .state = state_before(first)}));
    ASSERT_TRUE(pipeline.next(element));
    ASSERT_EQ(element.at(0).to_vector<std::int64_t>().at(0), 10 * i);
  }
}

TEST(PipelineCost, WhereSkippingTakesLittleNothingIsRestored) {
  Toll toll;
  toll.restoring = 20ms;
  take_every_tenth(toll, 30);
  EXPECT_EQ(toll.restored, 0);
  EXPECT_EQ(toll.skipped, 29 * 9);
}

TEST(PipelineCost, WhereSkippingTakesLongerStatesAreRestored) {
  Toll toll;
  toll.skipping = 2ms;
  take_every_tenth(toll, 30);
  EXPECT_GE(toll.restored, 27);
  EXPECT_LE(toll.skipped, 2 * 9);
}

TEST(PipelineCost, AStateThatTakesLongerThanSkippingIsTriedOnce) {
  Toll toll;
  toll.skipping = 500us;
  toll.restoring = 100ms;
  take_every_tenth(toll, 12);
  EXPECT_EQ(toll.restored, 1);
}

}  // namespace
}  // namespace cohort::distribute
