#include "cohort/datasets/transforms/assert_cardinality.h"

#include <algorithm>

#include "cohort/data/broken_source.h"
#include "cohort/data/indexed_iterator.h"
#include "cohort/datasets/transforms/selection.h"

namespace cohort::datasets {
namespace {

constexpr const char* kAssertCardinality = "Dataset.assert_cardinality";

class AssertCardinalityIterator : public Selection<AssertCardinalityIterator> {
 public:
  // UINT64_MAX: an input without end.
  AssertCardinalityIterator(std::unique_ptr<DatasetIterator> input, std::uint64_t expected)
      : Selection(std::move(input)), expected_(expected) {}

  template <class Item>
  std::size_t pull(std::span<Item> items) {
    std::size_t got = 0;
    for (; got < items.size() && seen_ < expected_; ++got) {
      // Before it is read: one that throws is behind it, too.
      ++seen_;
      if (from_input(items.subspan(got, 1)) == 0) refuse(--seen_, "elements");
    }
    if (got < items.size()) check_end();
    return got;
  }
  std::uint64_t skip(std::uint64_t count) override {
    const std::uint64_t asked = std::min(count, expected_ - seen_);
    const std::uint64_t passed = input_->skip(asked);
    seen_ += passed;
    if (passed < asked) refuse(seen_, "elements");
    if (passed < count) check_end();
    return passed;
  }
  void rewind() override {
    seen_ = 0;
    input_->rewind();
  }
  void save_to(StateWriter& state) const override {
    state.stage('A');
    state.number(seen_);
    input_->save_to(state);
  }
  void restore_from(StateReader& state) override {
    state.stage('A');
    seen_ = std::min(state.number(), expected_);
    input_->restore_from(state);
  }

 private:
  void check_end() {
    if (has_more_ || input_->skip(1) > 0) {
      has_more_ = true;
      refuse(seen_ + 1, "at least");
    }
  }
  // Not an element's error: the dataset is not what it was said to be.
  [[noreturn]] void refuse(std::uint64_t count, const char* name) const {
    const std::string expected = expected_ == UINT64_MAX ? "without end" : std::to_string(expected_);
    throw BrokenSource(failed_precondition(kAssertCardinality, "as many elements as were said are expected",
                                           {{"expected_cardinality", expected}, {name, count}}));
  }

  std::uint64_t expected_, seen_ = 0;
  bool has_more_ = false;
};

class AssertCardinalityStage : public TransformStage {
 public:
  AssertCardinalityStage(const std::vector<Dataset>& inputs, std::int64_t expected)
      : TransformStage(kAssertCardinality, inputs), expected_(expected) {
    if (expected < kInfiniteCardinality) {
      throw invalid_argument(kAssertCardinality, "a number of elements, or kInfiniteCardinality, is expected",
                             {{"expected_cardinality", expected}});
    }
  }
  std::int64_t cardinality() const override { return expected_; }
  std::unique_ptr<DatasetIterator> iterator() const override {
    if (is_indexed()) return std::make_unique<IndexedIterator>(indexed());
    return std::make_unique<AssertCardinalityIterator>(
        input().make_iterator(), expected_ < 0 ? UINT64_MAX : static_cast<std::uint64_t>(expected_));
  }
  // Where the input says the same there is nothing to look after.
  bool is_indexed() const override { return input().stage().is_indexed() && input().cardinality() == expected_; }
  std::unique_ptr<IndexedElements> indexed() const override { return input().stage().indexed(); }

 private:
  std::int64_t expected_;
};

COHORT_DATASET("assert_cardinality", [](const std::vector<Dataset>& inputs, const Attributes& attributes) {
  return std::make_shared<AssertCardinalityStage>(inputs, attributes.get<std::int64_t>("expected_cardinality"));
});

}  // namespace

DatasetTransform assert_cardinality(std::int64_t expected_cardinality) {
  return make_transform("assert_cardinality", {{"expected_cardinality", expected_cardinality}});
}

}  // namespace cohort::datasets
