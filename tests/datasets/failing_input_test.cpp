#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/datasets/walking.h"

namespace cohort::datasets::test {
namespace {

// 0, 1, ...; every number that `period` divides is damaged: an error comes in its place.
class DamagedIterator : public DatasetIterator {
 public:
  DamagedIterator(std::int64_t count, std::int64_t period) : count_(count), period_(period) {}
  bool next(Tensors& element) override {
    if (next_ == count_) return false;
    const std::int64_t value = next_++;
    if (value % period_ == 0) throw Error(ErrorCode::DataLoss, "element " + std::to_string(value) + " is damaged");
    element.assign(1, Tensor::of<std::int64_t>({value}, {}, cpu()));
    return true;
  }
  void rewind() override { next_ = 0; }
  void save_to(StateWriter& state) const override { state.number(static_cast<std::uint64_t>(next_)); }
  void restore_from(StateReader& state) override { next_ = static_cast<std::int64_t>(state.number()); }

 private:
  std::int64_t count_, period_, next_ = 0;
};

class DamagedStage : public DatasetStage {
 public:
  explicit DamagedStage(const Attributes& attributes)
      : count_(attributes.get<std::int64_t>("count")), period_(attributes.get<std::int64_t>("period")) {}
  const ElementSpec& element_spec() const override { return spec_; }
  std::int64_t cardinality() const override { return count_; }
  std::unique_ptr<DatasetIterator> iterator() const override {
    return std::make_unique<DamagedIterator>(count_, period_);
  }

 private:
  std::int64_t count_, period_;
  ElementSpec spec_ = TensorSpec{DType::Int64, {}};
};

COHORT_DATASET("test_damaged", [](const std::vector<Dataset>&, const Attributes& attributes) {
  return std::make_shared<DamagedStage>(attributes);
});

TEST(Shuffle, GivesEveryOtherElementOnceWhenSomeAreDamaged) {
  constexpr std::int64_t kCount = 50, kPeriod = 7;
  const Dataset damaged = Dataset::make("test_damaged", {}, {{"count", kCount}, {"period", kPeriod}});
  for (const std::int64_t buffer : {1, 10, 1000}) {
    auto walker = damaged.shuffle(buffer, {.seed = 1}).walk();
    std::multiset<std::int64_t> seen, expected;
    for (std::int64_t i = 0; i < kCount; ++i) {
      if (i % kPeriod != 0) expected.insert(i);
    }
    int errors = 0;
    Tensors element;
    for (bool more = true; more;) {
      try {
        more = walker->next(element);
        if (more) seen.insert(element.at(0).item<std::int64_t>());
      } catch (const Error&) {
        ++errors;
      }
    }
    EXPECT_EQ(seen, expected) << "buffer of " << buffer;
    EXPECT_EQ(errors, 8);
  }
}

}  // namespace
}  // namespace cohort::datasets::test
