#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "cohort/core/thread_pool.h"
#include "cohort/datasets/transforms/map.h"
#include "cohort/ops/ops.h"
#include "cohort/ops/random_ops.h"
#include "tests/datasets/damaged_source.h"
#include "tests/datasets/stage_checks.h"

namespace cohort::datasets::test {
namespace {

Tensors slow_where_it_can_be_divided(const Tensors& x) {
  if (x[0].item<std::int64_t>() % 5 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  return x;
}
COHORT_HOST_FUNCTION("test>sometimes_slow", slow_where_it_can_be_divided);

Dataset out_of_order(const Dataset& input) {
  return input.apply(map(HostFunction::registered("test>sometimes_slow", TensorSpec{DType::Int64, {}}),
                         {.num_parallel_calls = 4, .deterministic = false}));
}

// Walked here and there, from any position, each element comes once.
TEST(MapOutOfOrder, LosesAndRepeatsNothing) {
  for (const Dataset& source : {range(23), damaged_source(23, 7), damaged_indexed_source(23, 7)}) {
    const Dataset data = out_of_order(source);
    std::multiset<std::int64_t> expected;
    for (const std::int64_t number : numbers_or_errors(*source.make_iterator())) expected.insert(number);
    for (std::size_t at = 0; at <= 24; ++at) {
      const auto iterator = data.make_iterator();
      std::multiset<std::int64_t> seen;
      const auto walk = [&seen](DatasetIterator& from, std::size_t most) {
        for (std::size_t i = 0; i < most; ++i) {
          const std::optional<Outcome> outcome = next_outcome(from);
          if (!outcome) return;
          seen.insert(outcome->failed ? -1 : outcome->leaves[0][0]);
        }
      };
      walk(*iterator, at);
      const auto other = parse_dataset(serialize(data)).make_iterator();
      other->restore(iterator->save());
      walk(*other, 3);
      // Once more, from a position in which elements to come had been given out.
      const auto third = data.make_iterator();
      third->restore(other->save());
      walk(*third, SIZE_MAX);
      ASSERT_EQ(seen, expected) << at;
    }
  }
}

TEST(MapOutOfOrder, SkipsAsManyAsThereAre) {
  const Dataset data = out_of_order(range(23));
  for (std::size_t first = 0; first < 5; ++first) {
    for (std::size_t passed = 0; passed < 25; ++passed) {
      const auto iterator = data.make_iterator();
      numbers(*iterator, first);
      const auto other = data.make_iterator();
      other->restore(iterator->save());
      for (DatasetIterator* each : {iterator.get(), other.get()}) {
        ASSERT_EQ(each->skip(passed), std::min(passed, 23 - first));
        ASSERT_EQ(numbers(*each).size(), 23 - first - std::min(passed, 23 - first));
      }
    }
  }
}

TEST(MapOutOfOrder, GivesWhatIsDoneFirst) {
  const int threads = ThreadPool::instance().threads();
  ThreadPool::instance().set_threads(4);
  const auto result = numbers(out_of_order(range(200)));
  ThreadPool::instance().set_threads(threads);
  EXPECT_NE(result, numbers(range(200)));
}

TEST(MapOutOfOrder, BeginsTheNextEpochWithAllElements) {
  const auto iterator = out_of_order(range(12)).make_iterator();
  numbers(*iterator, 5);
  iterator->rewind();
  EXPECT_THAT(numbers(*iterator), testing::UnorderedElementsAreArray(numbers(range(12))));
}

// Rows of 1 to 40 numbers: more shapes than are compiled.
Tensor row_of(std::int64_t size) {
  std::vector<float> values(static_cast<std::size_t>(size));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = 0.37f * static_cast<float>(i + values.size());
  return Tensor::of(values, {size});
}
COHORT_HOST_FUNCTION("test>row_of_size",
                     [](const Tensors& size) { return Tensors{row_of(size[0].item<std::int64_t>())}; });

Tensor noisy_softmax(Tensor x) {
  return ops::exp(x * 0.01f) / (ops::sum(x) + 1.5f) + ops::random_uniform({}, 0, 1, DType::Float32, 3);
}

TEST(MapOfManyShapes, GivesTheBitsThatCompiledShapesHave) {
  const Dataset ragged =
      range(1, 41).apply(map(HostFunction::registered("test>row_of_size", TensorSpec{DType::Float32, {kUnknown}})));
  const auto values = [](DatasetIterator& iterator) {
    std::vector<std::vector<float>> all;
    Tensors element;
    while (iterator.next(element)) all.push_back(element[0].to_vector<float>());
    return all;
  };
  for (const std::int64_t calls : {0, 3}) {
    const auto together = values(*ragged.map(noisy_softmax, {.num_parallel_calls = calls}).make_iterator());
    ASSERT_EQ(together.size(), 40u);
    for (std::int64_t i = 0; i < 40; ++i) {
      // A function that has met no other shape compiles this one.
      const auto alone = values(*ragged.skip(i).take(1).map(noisy_softmax).make_iterator());
      ASSERT_EQ(alone.at(0), together[static_cast<std::size_t>(i)]) << i;
    }
  }
}

}  // namespace
}  // namespace cohort::datasets::test
