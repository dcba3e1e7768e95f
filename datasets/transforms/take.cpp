#include "cohort/datasets/transforms/take.h"

#include <algorithm>

#include "cohort/datasets/transforms/selection.h"

namespace cohort::datasets {
namespace {

class TakeIterator : public Selection<TakeIterator> {
 public:
  TakeIterator(std::unique_ptr<DatasetIterator> input, std::uint64_t count)
      : Selection(std::move(input)), count_(count) {}

  template <class Item>
  std::size_t pull(std::span<Item> items) {
    const std::size_t got = from_input(items.first(std::min<std::uint64_t>(items.size(), count_ - taken_)));
    taken_ += got;
    return got;
  }
  std::uint64_t skip(std::uint64_t count) override {
    const std::uint64_t passed = input_->skip(std::min(count, count_ - taken_));
    taken_ += passed;
    return passed;
  }
  void rewind() override {
    taken_ = 0;
    input_->rewind();
  }
  void save_to(StateWriter& state) const override {
    state.stage('T');
    state.number(taken_);
    input_->save_to(state);
  }
  void restore_from(StateReader& state) override {
    state.stage('T');
    taken_ = std::min(state.number(), count_);
    input_->restore_from(state);
  }

 private:
  std::uint64_t count_, taken_ = 0;
};

class TakenElements : public IndexedSelection {
 public:
  TakenElements(std::unique_ptr<IndexedElements> input, std::uint64_t count)
      : IndexedSelection(std::move(input)), count_(std::min(count, input_->count())) {}

  std::uint64_t count() const override { return count_; }

 protected:
  void to_input(std::span<ElementPlace>) const override {}

 private:
  std::uint64_t count_;
};

// A negative count takes everything.
class TakeStage : public TransformStage {
 public:
  TakeStage(const std::vector<Dataset>& inputs, std::int64_t count)
      : TransformStage("Dataset.take", inputs), count_(count) {}

  std::int64_t cardinality() const override {
    const std::int64_t available = input().cardinality();
    if (count_ < 0 || available == kUnknownCardinality) return available;
    return available == kInfiniteCardinality ? count_ : std::min(available, count_);
  }
  std::unique_ptr<DatasetIterator> iterator() const override {
    if (is_indexed()) return std::make_unique<IndexedIterator>(indexed());
    return std::make_unique<TakeIterator>(input().make_iterator(), most());
  }
  bool is_indexed() const override { return input().stage().is_indexed(); }
  std::unique_ptr<IndexedElements> indexed() const override {
    return std::make_unique<TakenElements>(input().stage().indexed(), most());
  }

 private:
  std::uint64_t most() const { return count_ < 0 ? UINT64_MAX : static_cast<std::uint64_t>(count_); }

  std::int64_t count_;
};

COHORT_DATASET("take", [](const std::vector<Dataset>& inputs, const Attributes& attributes) {
  return std::make_shared<TakeStage>(inputs, attributes.get<std::int64_t>("count"));
});

}  // namespace

DatasetTransform take(std::int64_t count) { return make_transform("take", {{"count", count}}); }

}  // namespace cohort::datasets
