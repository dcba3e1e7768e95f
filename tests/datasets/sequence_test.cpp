#include "cohort/datasets/sources/sequence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "cohort/ops/math.h"
#include "tests/datasets/stage_checks.h"
#include "tests/support/error_of.h"

namespace cohort::datasets::test {
namespace {

using cohort::test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;

// Batches of one number: 100 * epoch + index; one of them may fail.
class Hundreds : public utils::Sequence {
 public:
  explicit Hundreds(bool is_thread_safe = false, std::int64_t failing = -1)
      : is_thread_safe_(is_thread_safe), failing_(failing) {}
  std::int64_t size() const override { return 12; }
  Element get(std::int64_t index) override {
    const int readers = ++readers_;
    if (readers > most_readers_) most_readers_ = readers;
    std::this_thread::sleep_for(std::chrono::microseconds(300));
    --readers_;
    if (index == failing_) throw invalid_argument("test", "another index is expected", {{"index", index}});
    return Element::tuple({Tensor::of<std::int64_t>({100 * epoch_ + index}, {1}), Tensor::full({1, 2}, 0.0)});
  }
  void on_epoch_end() override { ++epoch_; }
  bool is_thread_safe() const override { return is_thread_safe_; }

  std::atomic<int> readers_ = 0, most_readers_ = 0;

 private:
  bool is_thread_safe_;
  std::int64_t failing_, epoch_ = 0;
};
COHORT_SEQUENCE("test>hundreds", [] { return std::make_shared<Hundreds>(true); });

TEST(FromSequence, GivesItsBatchesByNumber) {
  const Dataset dataset = from_sequence(std::make_shared<Hundreds>());
  EXPECT_EQ(to_string(dataset.element_spec()), "(int64(None,), float32(None, 2))");
  EXPECT_EQ(dataset.cardinality(), 12);
  EXPECT_TRUE(dataset.stage().is_indexed());
  EXPECT_THAT(numbers(dataset.skip(3).shard(4, 1)), ElementsAre(4, 8));
}

TEST(FromSequence, EpochsEndBetweenPasses) {
  const auto iterator = from_sequence(std::make_shared<Hundreds>()).take(2).make_iterator();
  EXPECT_THAT(numbers(*iterator), ElementsAre(0, 1));
  iterator->rewind();
  EXPECT_THAT(numbers(*iterator), ElementsAre(100, 101));
  EXPECT_THAT(numbers(from_sequence("test>hundreds").take(2).repeat(3)), ElementsAre(0, 1, 100, 101, 200, 201));
}

TEST(FromSequence, ASequenceThatIsNotThreadSafeIsReadByOneAtATime) {
  for (const int parallel : {1, 2, 8}) {
    const auto sequence = std::make_shared<Hundreds>();
    const Dataset mapped =
        from_sequence(sequence).map([](Tensor x, Tensor) { return ops::add(x, 1); }, {.num_parallel_calls = parallel});
    EXPECT_THAT(numbers(mapped), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12));
    EXPECT_EQ(sequence->most_readers_, 1);
  }
}

TEST(FromSequence, ErrorsStayInTheirPlaces) {
  const Dataset dataset = from_sequence(std::make_shared<Hundreds>(false, 2)).take(4);
  const auto first_leaf = dataset.map([](Tensor x, Tensor) { return x; });
  EXPECT_THAT(numbers_or_errors(*first_leaf.make_iterator()), ElementsAre(0, 1, -1, 3));
  expect_skip_equals_walking(first_leaf);
  const Dataset other = from_sequence(std::make_shared<Hundreds>(), ElementSpec(TensorSpec{DType::Int64, {1}}));
  EXPECT_THAT(error_of([&] { all(other); }), HasSubstr("the structure announced"));
}

TEST(FromSequence, TravelsByNameAlone) {
  std::string bytes;
  {
    const Dataset here = from_sequence(std::make_shared<Hundreds>());
    bytes = serialize(here);
    EXPECT_EQ(numbers(parse_dataset(bytes)).size(), 12u);
  }
  EXPECT_THAT(error_of([&] { parse_dataset(bytes); }), HasSubstr("register it with COHORT_SEQUENCE"));
  EXPECT_THAT(error_of([&] { from_sequence("test>nobody"); }), HasSubstr("name=test>nobody"));
}

// Each dataset that is parsed has a sequence of its own, which a restore brings to its epoch.
TEST(FromSequence, RestoresAnywhere) {
  expect_restores_anywhere(from_sequence("test>hundreds").map([](Tensor x, Tensor) { return x; }).take(5));
}

}  // namespace
}  // namespace cohort::datasets::test
