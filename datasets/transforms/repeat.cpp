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
    return static_cast<std::size_t>(
        through_passes(items.size(), [&](std::uint64_t done) { return from_input(items.subspan(done)); }));
  }
  std::uint64_t skip(std::uint64_t count) override {
    return through_passes(count, [&](std::uint64_t done) { return input_->skip(count - done); });
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
  // Asks `next(done)` for the elements that are left of `wanted`, from pass to pass; how many there were.
  template <class Next>
  std::uint64_t through_passes(std::uint64_t wanted, const Next& next) {
    std::uint64_t done = 0;
    while (count_ != 0) {
      const std::uint64_t got = next(done);
      done += got;
      seen_ = seen_ || got > 0;
      // An empty input repeated for ever is still empty.
      if (done == wanted || !seen_) break;
      if (count_ > 0 && pass_ + 1 >= static_cast<std::uint64_t>(count_)) break;
      ++pass_;
      seen_ = false;
      input_->rewind();
    }
    return done;
  }

  std::int64_t count_;
  std::uint64_t pass_ = 0;
  bool seen_ = false;
};

class RepeatedElements : public IndexedSelection {
 public:
  // A negative count never ends.
  RepeatedElements(std::unique_ptr<IndexedElements> input, std::int64_t count)
      : IndexedSelection(std::move(input)), each_(input_->count()), count_(count) {}

  std::uint64_t count() const override {
    if (count_ == 0 || each_ == 0) return 0;
    const auto times = static_cast<std::uint64_t>(count_);
    return count_ < 0 || each_ == kEndless || each_ > INT64_MAX / times ? kEndless : each_ * times;
  }

 protected:
  void to_input(std::span<ElementPlace> places) const override {
    if (each_ == kEndless) return;
    for (ElementPlace& place : places) {
      const std::uint64_t pass = place.position / each_;
      // Passes of a round that never ends are told apart from those of the next round.
      place.pass = (count_ < 0 ? place.pass << 32 : place.pass * static_cast<std::uint64_t>(count_)) + pass;
      place.position %= each_;
    }
  }

 private:
  std::uint64_t each_;
  std::int64_t count_;
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
    if (is_indexed()) return std::make_unique<IndexedIterator>(indexed());
    return std::make_unique<RepeatIterator>(input().make_iterator(), count_);
  }
  bool is_indexed() const override { return input().stage().is_indexed(); }
  std::unique_ptr<IndexedElements> indexed() const override {
    return std::make_unique<RepeatedElements>(input().stage().indexed(), count_);
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
