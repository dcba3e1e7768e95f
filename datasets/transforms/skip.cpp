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
    return skip_first() ? from_input(items) : 0;
  }
  std::uint64_t skip(std::uint64_t count) override { return skip_first() ? input_->skip(count) : 0; }
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
  // Whether elements may be left behind those that are left out.
  bool skip_first() {
    if (skipped_) return true;
    const bool enough = input_->skip(count_) == count_;
    skipped_ = true;
    return enough;
  }

  std::uint64_t count_;
  bool skipped_ = false;
};

class ElementsBehind : public IndexedSelection {
 public:
  ElementsBehind(std::unique_ptr<IndexedElements> input, std::uint64_t first)
      : IndexedSelection(std::move(input)), first_(std::min(first, input_->count())) {}

  std::uint64_t count() const override { return input_->count() == kEndless ? kEndless : input_->count() - first_; }

 protected:
  void to_input(std::span<ElementPlace> places) const override {
    for (ElementPlace& place : places) place.position += first_;
  }

 private:
  std::uint64_t first_;
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
    if (is_indexed()) return std::make_unique<IndexedIterator>(indexed());
    return std::make_unique<SkipIterator>(input().make_iterator(), static_cast<std::uint64_t>(count_));
  }
  bool is_indexed() const override { return input().stage().is_indexed(); }
  std::unique_ptr<IndexedElements> indexed() const override {
    if (count_ < 0) return input().take(0).stage().indexed();
    return std::make_unique<ElementsBehind>(input().stage().indexed(), static_cast<std::uint64_t>(count_));
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
