#include "cohort/datasets/transforms/repeat.h"

#include "cohort/datasets/transforms/selection.h"

namespace cohort::datasets {
namespace {

// Of more passes than this nobody sees the last one.
constexpr std::int64_t kMostCounted = 4096;

class RepeatIterator : public Selection<RepeatIterator> {
 public:
  // A negative count never ends.
  RepeatIterator(std::unique_ptr<DatasetIterator> input, std::int64_t count)
      : Selection(std::move(input)), count_(count) {}

  template <class Item>
  std::size_t pull(std::span<Item> items) {
    std::size_t filled = 0;
    while (count_ != 0) {
      const std::size_t got = from_input(items.subspan(filled));
      filled += got;
      seen_ = seen_ || got > 0;
      // An empty input repeated for ever is still empty.
      if (filled == items.size() || !seen_) break;
      if (count_ > 0 && pass_ + 1 >= static_cast<std::uint64_t>(count_)) break;
      ++pass_;
      seen_ = false;
      input_->rewind();
    }
    return filled;
  }
  // The next round begins with the same pass of the input however far this one went.
  void rewind() override {
    const bool counted = count_ > 0 && count_ <= kMostCounted;
    for (std::uint64_t left = counted ? static_cast<std::uint64_t>(count_) - pass_ : 1; left > 0; --left) {
      input_->rewind();
    }
    pass_ = 0;
    seen_ = false;
  }
  void save_to(StateWriter& state) const override {
    state.stage('P');
    state.number(pass_);
    state.number(seen_);
    input_->save_to(state);
  }
  void restore_from(StateReader& state) override {
    state.stage('P');
    pass_ = state.number();
    seen_ = state.number() != 0;
    input_->restore_from(state);
  }

 private:
  std::int64_t count_;
  std::uint64_t pass_ = 0;
  bool seen_ = false;
};

class RepeatStage : public TransformStage {
 public:
  RepeatStage(const std::vector<Dataset>& inputs, std::int64_t count)
      : TransformStage("Dataset.repeat", inputs), count_(count) {}

  std::int64_t cardinality() const override {
    const std::int64_t available = input().cardinality();
    if (count_ == 0 || available == 0) return 0;
    if (available == kUnknownCardinality && count_ > 0) return kUnknownCardinality;
    if (available < 0 || count_ < 0)
      return available == kUnknownCardinality ? kUnknownCardinality : kInfiniteCardinality;
    return available > INT64_MAX / count_ ? kInfiniteCardinality : available * count_;
  }
  std::unique_ptr<DatasetIterator> iterator() const override {
    return std::make_unique<RepeatIterator>(input().make_iterator(), count_);
  }

 private:
  std::int64_t count_;
};

COHORT_DATASET("repeat", [](const std::vector<Dataset>& inputs, const Attributes& attributes) {
  return std::make_shared<RepeatStage>(inputs, attributes.get<std::int64_t>("count"));
});

}  // namespace

DatasetTransform repeat(std::int64_t count) { return make_transform("repeat", {{"count", count}}); }

}  // namespace cohort::datasets
