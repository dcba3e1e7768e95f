#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>

#include "cohort/data/host_function.h"
#include "cohort/datasets/transforms/map.h"
#include "tests/datasets/elements.h"
#include "tests/support/patience.h"

namespace cohort::datasets::test {
namespace {

using Milliseconds = std::chrono::duration<double, std::milli>;

constexpr std::int64_t kElements = 1'000'000, kBatch = 100, kPassedBatches = 9'000;

std::atomic<std::uint64_t> maps_run = 0;

void counted_negative(const Tensors& x, Tensors& results) {
  ++maps_run;
  results.resize(1);
  results[0].renew(DType::Int64, {}, cpu());
  *static_cast<std::int64_t*>(results[0].raw()) = -*static_cast<const std::int64_t*>(x[0].raw());
}
COHORT_HOST_FUNCTION("test>counted_negative", counted_negative);

Dataset in_random_order(const Dataset& source) { return source.shuffle(kElements, {.seed = 5}); }

Dataset negatives_of(const Dataset& source) {
  const HostFunction negative = HostFunction::registered("test>counted_negative", TensorSpec{DType::Int64, {}});
  return in_random_order(source).apply(map(negative, {.num_parallel_calls = kAutotune})).batch(kBatch);
}

// Walked there, without a map.
std::vector<std::int64_t> batch_far_on(const Dataset& source) {
  const auto iterator = in_random_order(source).batch(kBatch).make_iterator();
  Tensors element;
  for (std::int64_t i = 0; i <= kPassedBatches; ++i) EXPECT_TRUE(iterator->next(element));
  std::vector<std::int64_t> values = element[0].to_vector<std::int64_t>();
  for (std::int64_t& value : values) value = -value;
  return values;
}

TEST(RestoringFar, RunsNoMapAndTakesNoTime) {
  for (const Dataset& source : rows_and_range(kElements)) {
    for (const bool prefetched : {false, true}) {
      const Dataset data = prefetched ? negatives_of(source).prefetch(2) : negatives_of(source);
      const auto there = data.make_iterator();
      ASSERT_EQ(there->skip(kPassedBatches), static_cast<std::uint64_t>(kPassedBatches));
      const std::string state = there->save();
      double best = 1e9;
      for (int round = 0; round < 5; ++round) {
        const auto iterator = data.make_iterator();
        const std::uint64_t before = maps_run;
        const auto start = std::chrono::steady_clock::now();
        iterator->restore(state);
        best = std::min(best, Milliseconds(std::chrono::steady_clock::now() - start).count());
        ASSERT_EQ(maps_run, before);
        Tensors element;
        ASSERT_TRUE(iterator->next(element));
        ASSERT_EQ(element[0].to_vector<std::int64_t>(), batch_far_on(source));
        ASSERT_GT(maps_run, before);
      }
      if (cohort::test::kTimesSlower == 1) {
        EXPECT_LT(best, 10.0) << prefetched;
      }
    }
  }
}

}  // namespace
}  // namespace cohort::datasets::test
