#include "cohort/ops/random_ops.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "cohort/core/dispatch.h"
#include "cohort/core/kernel.h"
#include "cohort/core/random.h"
#include "cohort/core/thread_pool.h"
#include "cohort/graph/function.h"
#include "cohort/ops/creation.h"
#include "cohort/ops/math.h"
#include "tests/ops/counted.h"

namespace cohort::test {
namespace {

using namespace ops;

struct Moments {
  double mean, stddev, low, high;
};
Moments moments_of(const Tensor& x) {
  const std::vector<double> values = x.to_vector<double>();
  const auto count = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double square = 0;
  for (double value : values) square += (value - mean) * (value - mean);
  return {mean, std::sqrt(square / count), *std::min_element(values.begin(), values.end()),
          *std::max_element(values.begin(), values.end())};
}

constexpr double kError = 0.02;  // of a mean of 40000 numbers of order 1: four standard errors
const Shape kMany = {200, 200};

COHORT_OP_REFERENCE(RandomUniform, moments, kFloats) {
  const Moments m = moments_of(random_uniform(kMany, -1, 3, dtype, 5));
  EXPECT_NEAR(m.mean, 1, 2 * kError);
  EXPECT_NEAR(m.stddev, 4 / std::sqrt(12.0), 2 * kError);
  EXPECT_GE(m.low, -1);
  EXPECT_LE(m.high, 3);
}
TEST(RandomUniform, integers_reach_every_value) {
  register_reference("RandomUniform", kIntegers);
  for (DType dtype : kIntegers) {
    std::vector<int> counts(5);
    for (int value : random_uniform({5000}, 2, 7, dtype, 5).to_vector<int>()) {
      ASSERT_TRUE(value >= 2 && value < 7);
      ++counts[static_cast<std::size_t>(value - 2)];
    }
    for (int count : counts) EXPECT_NEAR(count, 1000, 150);
  }
}
COHORT_OP_REFERENCE(RandomNormal, moments, kFloats) {
  const Moments m = moments_of(random_normal(kMany, 1, 2, dtype, 5));
  EXPECT_NEAR(m.mean, 1, 2 * kError);
  EXPECT_NEAR(m.stddev, 2, 2 * kError);
}
COHORT_OP_REFERENCE(TruncatedNormal, stays_within_two_deviations, kFloats) {
  const Moments m = moments_of(truncated_normal(kMany, 1, 0.5, dtype, 5));
  EXPECT_NEAR(m.mean, 1, kError);
  EXPECT_NEAR(m.stddev, 0.5 * 0.8796, kError);
  EXPECT_GE(m.low, 0);
  EXPECT_LE(m.high, 2);
}
COHORT_OP_REFERENCE(Bernoulli, share_of_ones, kAllTypes) {
  const Moments m = moments_of(bernoulli(kMany, 0.3, dtype, 5));
  EXPECT_NEAR(m.mean, 0.3, kError);
  EXPECT_EQ(m.low, 0);
  EXPECT_EQ(m.high, 1);
}

// The forms that follow another tensor draw the very same numbers.
COHORT_OP_REFERENCE(RandomUniformLike, as_the_plain_op, kFloats) {
  EXPECT_EQ(random_uniform_like(zeros({3, 5}, dtype), -1, 1, 9).to_vector<double>(),
            random_uniform({3, 5}, -1, 1, dtype, 9).to_vector<double>());
}
COHORT_OP_REFERENCE(RandomNormalLike, as_the_plain_op, kFloats) {
  EXPECT_EQ(random_normal_like(zeros({3, 5}, dtype), 0, 1, 9).to_vector<double>(),
            random_normal({3, 5}, 0, 1, dtype, 9).to_vector<double>());
}
COHORT_OP_REFERENCE(TruncatedNormalLike, as_the_plain_op, kFloats) {
  EXPECT_EQ(truncated_normal_like(zeros({3, 5}, dtype), 0, 1, 9).to_vector<double>(),
            truncated_normal({3, 5}, 0, 1, dtype, 9).to_vector<double>());
}
COHORT_OP_REFERENCE(BernoulliLike, as_the_plain_op, kAllTypes) {
  EXPECT_EQ(bernoulli_like(zeros({3, 5}, dtype), 0.5, 9).to_vector<double>(),
            bernoulli({3, 5}, 0.5, dtype, 9).to_vector<double>());
}

TEST(Random, seeds_decide) {
  const auto draw = [](std::int64_t seed) { return random_normal({4, 4}, 0, 1, float32, seed).to_vector<float>(); };
  EXPECT_EQ(draw(3), draw(3));
  EXPECT_NE(draw(3), draw(4));
  EXPECT_NE(draw(kFreshSeed), draw(kFreshSeed));
  set_random_seed(11);
  const auto first = draw(kFreshSeed);
  set_random_seed(11);
  EXPECT_EQ(first, draw(kFreshSeed));
  set_random_seed(12);
  EXPECT_NE(first, draw(kFreshSeed));
}
TEST(Random, threads_do_not_decide) {
  ThreadPool& pool = ThreadPool::instance();
  const int before = pool.threads();
  pool.set_threads(1);
  const auto one = random_normal({300, 301}, 0, 1, float32, 5).to_vector<float>();
  pool.set_threads(3);
  const auto three = random_normal({300, 301}, 0, 1, float32, 5).to_vector<float>();
  pool.set_threads(before);
  EXPECT_EQ(one, three);
}
// A batch divided among replicas draws what the whole batch would have drawn.
TEST(Random, rows_depend_on_the_sample_not_on_the_batch) {
  const auto draw = [](std::int64_t rows, std::uint64_t first_sample) {
    const OpDef& op = find_op("RandomNormal");
    const Attributes attributes{
        {"shape", Shape{rows, 3}}, {"dtype", float32}, {"mean", 0.0}, {"stddev", 1.0}, {"seed", 5}};
    const Specs outputs = op.infer_outputs({}, attributes);
    const OpCall call(op, attributes, {});
    const KernelFn kernel = make_kernel(KernelSpec(call, outputs, cpu()));
    std::vector<float> values(static_cast<std::size_t>(rows) * 3);
    void* output = values.data();
    const RandomState state{.seed = 1, .epoch = 2, .step = 3, .first_sample = first_sample};
    kernel({.outputs = &output, .random = &state});
    return values;
  };
  const std::vector<float> whole = draw(6, 0), second = draw(3, 3);
  EXPECT_TRUE(std::equal(second.begin(), second.end(), whole.begin() + 9));
  EXPECT_FALSE(std::equal(second.begin(), second.end(), whole.begin()));
}

COHORT_OP_REFERENCE(Dropout, zeros_or_scales, kFloats) {
  const std::vector<double> y = dropout(ones(kMany, dtype), 0.25, 5).to_vector<double>();
  const auto dropped = static_cast<double>(std::count(y.begin(), y.end(), 0.0));
  EXPECT_NEAR(dropped / static_cast<double>(y.size()), 0.25, kError);
  const double kept = *std::max_element(y.begin(), y.end());
  EXPECT_NEAR(kept, 1 / 0.75, tolerance(dtype));
  EXPECT_EQ(dropped + static_cast<double>(std::count(y.begin(), y.end(), kept)), static_cast<double>(y.size()));
  const Tensor x = counted({2, 2}, dtype);
  EXPECT_EQ(dropout(x, 0, 5).to_vector<double>(), x.to_vector<double>());
  EXPECT_EQ(dropout(x, 1, 5).to_vector<double>(), (std::vector<double>{0, 0, 0, 0}));
  expect_error([&] { dropout(x, 1.5); }, {"Dropout:", "rate must lie in [0, 1]", "rate=1.5"});
}
COHORT_OP_GRADIENT(Dropout, same_mask) {
  check_gradient([](const Tensors& x) { return square(dropout(x[0], 0.5, 5)); }, {spread_tensor({4, 3}, 1, 2)},
                 {.unknown_batch = false});
}

COHORT_OP_REFERENCE(RandomPermutationLike, every_row_once, kAllTypes) {
  const Tensor x = zeros({100, 2}, dtype);
  std::vector<std::int64_t> order = random_permutation_like(x, 5).to_vector<std::int64_t>();
  EXPECT_FALSE(std::is_sorted(order.begin(), order.end()));
  std::sort(order.begin(), order.end());
  for (std::int64_t i = 0; i < 100; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
}
TEST(Shuffle, keeps_rows_together_and_has_a_gradient) {
  const std::vector<double> y = shuffle(counted({50, 2}, float32), 5).to_vector<double>();
  for (std::size_t i = 0; i < y.size(); i += 2) EXPECT_EQ(y[i] + 1, y[i + 1]);
  check_gradient([](const Tensors& x) { return square(shuffle(x[0], 5)); }, {spread_tensor({3, 2}, -1, 1)},
                 {.unknown_batch = false});
}

}  // namespace
}  // namespace cohort::test
