#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "tests/datasets/positions.h"

namespace cohort::datasets::test {
namespace {

using testing::ElementsAre;
using namespace std::chrono_literals;

std::atomic<std::int64_t> elements_made{0};

// Numbers that take a while to come; `fails_at` throws once instead of giving its number.
class SlowIterator : public DatasetIterator {
 public:
  SlowIterator(std::int64_t count, std::int64_t fails_at) : count_(count), fails_at_(fails_at) {}
  bool next(Tensors& element) override {
    std::this_thread::sleep_for(100us);
    if (next_ == count_) return false;
    ++elements_made;
    const std::int64_t value = next_++;
    if (value == fails_at_) throw Error(ErrorCode::DataLoss, "slow: element " + std::to_string(value) + " is damaged");
    element.assign(1, Tensor::of<std::int64_t>({value}, {}, cpu()));
    return true;
  }
  void rewind() override { next_ = 0; }
  void save_to(StateWriter& state) const override { state.number(static_cast<std::uint64_t>(next_)); }
  void restore_from(StateReader& state) override { next_ = static_cast<std::int64_t>(state.number()); }

 private:
  std::int64_t count_, fails_at_, next_ = 0;
};

class SlowStage : public DatasetStage {
 public:
  SlowStage(std::int64_t count, std::int64_t fails_at) : count_(count), fails_at_(fails_at) {}
  const ElementSpec& element_spec() const override { return spec_; }
  std::int64_t cardinality() const override { return count_; }
  std::unique_ptr<DatasetIterator> iterator() const override {
    return std::make_unique<SlowIterator>(count_, fails_at_);
  }

 private:
  std::int64_t count_, fails_at_;
  ElementSpec spec_ = TensorSpec{DType::Int64, {}};
};

COHORT_DATASET("test_slow", [](const std::vector<Dataset>&, const Attributes& attributes) {
  return std::make_shared<SlowStage>(attributes.get<std::int64_t>("count"), attributes.get<std::int64_t>("fails_at"));
});

Dataset slow(std::int64_t count, std::int64_t fails_at = -1) {
  return Dataset::make("test_slow", {}, {{"count", count}, {"fails_at", fails_at}});
}

TEST(Prefetch, KeepsOrderWhetherItsInputIsSlowOrFast) {
  std::vector<std::int64_t> expected;
  for (std::int64_t i = 0; i < 60; ++i) expected.push_back(i);
  for (std::int64_t size : {1, 2, 7, 1000}) {
    EXPECT_EQ(numbers(slow(60).prefetch(size)), expected);
    EXPECT_EQ(numbers(range(60).prefetch(size)), expected);
  }
  EXPECT_EQ(numbers(slow(60).prefetch(kAutotune)), expected);
  EXPECT_EQ(numbers(slow(60).cache().repeat(2).prefetch(3).skip(60)), expected) << "slow first, then fast";
  EXPECT_THROW(range(3).prefetch(-2), Error);
}

TEST(Prefetch, ReadsAheadOfASlowConsumer) {
  auto iterator = slow(100).prefetch(4).make_iterator();
  const std::int64_t before = elements_made;
  Tensors element;
  constexpr std::int64_t kTaken = 2, kAhead = 4;
  for (std::int64_t i = 0; i < kTaken; ++i) iterator->next(element);
  for (int i = 0; i < 2000 && elements_made < before + kTaken + kAhead - 1; ++i) std::this_thread::sleep_for(1ms);
  EXPECT_GE(elements_made, before + kTaken + kAhead - 1);
  std::this_thread::sleep_for(5ms);
  EXPECT_LE(elements_made, before + kTaken + kAhead) << "and no further than asked";
}

TEST(Prefetch, PositionExcludesWhatWasReadAhead) {
  const Dataset dataset = slow(40).prefetch(5);
  auto iterator = dataset.make_iterator();
  Tensors element;
  for (std::int64_t i = 0; i < 20; ++i) {
    iterator->next(element);
    if (i % 4 == 0) std::this_thread::sleep_for(1ms);
    auto other = dataset.make_iterator();
    other->restore(iterator->save());
    EXPECT_THAT(numbers(*other, 2), ElementsAre(i + 1, i + 2));
  }
  const std::string state = iterator->save();
  numbers(*iterator, 7);
  iterator->restore(state);
  EXPECT_THAT(numbers(*iterator, 3), ElementsAre(20, 21, 22));
}

TEST(Prefetch, RewindsInTheMiddleAndAtTheEnd) {
  auto iterator = slow(12).prefetch(3).make_iterator();
  EXPECT_EQ(numbers(*iterator, 7).size(), 7u);
  iterator->rewind();
  EXPECT_EQ(numbers(*iterator).size(), 12u);
  Tensors element;
  EXPECT_FALSE(iterator->next(element)) << "the end stays the end";
  iterator->rewind();
  EXPECT_THAT(numbers(*iterator, 2), ElementsAre(0, 1));
}

TEST(Prefetch, PassesErrorsOnInTheirPlaceAndGoesOn) {
  for (std::int64_t fails_at : {0, 1, 9}) {
    auto iterator = slow(12, fails_at).prefetch(4).make_iterator();
    EXPECT_EQ(numbers(*iterator, static_cast<std::size_t>(fails_at)).size(), static_cast<std::size_t>(fails_at));
    Tensors element;
    try {
      iterator->next(element);
      FAIL() << "element " << fails_at << " must fail";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::DataLoss);
    }
    EXPECT_EQ(numbers(*iterator).size(), static_cast<std::size_t>(11 - fails_at));
  }
}

TEST(Prefetch, StopsCleanlyWhereverItStands) {
  for (std::size_t consumed : {0u, 1u, 2u, 3u, 5u, 30u}) {
    auto iterator = slow(20).prefetch(3).make_iterator();
    numbers(*iterator, consumed);
  }
  for (int i = 0; i < 50; ++i) {
    auto iterator = range(100).prefetch(2).make_iterator();
    numbers(*iterator, 3);
  }
}

TEST(Prefetch, ManyInARow) {
  EXPECT_EQ(numbers(slow(30).prefetch(2).enumerate().prefetch(3).take(25).prefetch(1)).size(), 25u);
}

const PositionsCase kPrefetchCases[] = {
    {"elements", [] { return range(9).prefetch(3); }},
    {"one", [] { return range(9).prefetch(1); }},
    {"nothing", [] { return range(9).prefetch(0); }},
};
INSTANTIATE_TEST_SUITE_P(Prefetch, Positions, testing::ValuesIn(kPrefetchCases), name_of_case);

}  // namespace
}  // namespace cohort::datasets::test
