#include "cohort/datasets/transforms/skip.h"

#include <algorithm>

#include "cohort/datasets/transforms/selection.h"

namespace cohort::datasets {
namespace {

class SkipIterator : public Selection<SkipIterator> {
 public:
  SkipIterator(std::unique_ptr<DatasetIterator> input, std::uint64_t count)
      : Selection(std::move(input)), count_(count) {}

  template <class Item>
  std::size_t pull(std::span<Item> items) {
    if (!skipped_) {
      skipped_ = true;
      if (discard_input(count_) < count_) return 0;
    }
    return from_input(items);
  }
  void rewind() override {
    skipped_ = false;
    input_->rewind();
  }
  void save_to(StateWriter& state) const override {
    state.stage('K');
    state.number(skipped_);
    input_->save_to(state);
  }
  void restore_from(StateReader& state) override {
    state.stage('K');
    skipped_ = state.number() != 0;
    input_->restore_from(state);
  }

 private:
  std::uint64_t count_;
  bool skipped_ = false;
};

// A negative count leaves nothing, as in tf.data.
class SkipStage : public TransformStage {
 public:
  SkipStage(const std::vector<Dataset>& inputs, std::int64_t count)
      : TransformStage("Dataset.skip", inputs), count_(count) {}

  std::int64_t cardinality() const override {
    const std::int64_t available = input().cardinality();
    if (count_ < 0) return 0;
    return available < 0 ? available : std::max<std::int64_t>(available - count_, 0);
  }
  std::unique_ptr<DatasetIterator> iterator() const override {
    // What is infinite cannot be skipped by walking it.
    if (count_ < 0) return input().take(0).make_iterator();
    return std::make_unique<SkipIterator>(input().make_iterator(), static_cast<std::uint64_t>(count_));
  }

 private:
  std::int64_t count_;
};

COHORT_DATASET("skip", [](const std::vector<Dataset>& inputs, const Attributes& attributes) {
  return std::make_shared<SkipStage>(inputs, attributes.get<std::int64_t>("count"));
});

}  // namespace

DatasetTransform skip(std::int64_t count) { return make_transform("skip", {{"count", count}}); }

}  // namespace cohort::datasets
