#include "cohort/ops/reduce.h"

#include <cmath>
#include <numeric>

#include "cohort/autodiff/tape.h"
#include "cohort/core/thread_pool.h"
#include "cohort/ops/math.h"
#include "tests/support/op_check.h"

namespace cohort::test {
namespace {

using ops::keep_dims;
using Combine = double (*)(double, double);
using Reduction = Tensor (*)(const Tensor&, const ops::Axes&, bool);

// Every subset of the axes of a shape, against a plain walk over all elements.
void check_all_axes(Reduction reduction, Combine combine, double start, const Tensor& x, DType result,
                    bool is_mean = false) {
  const Shape& shape = x.shape();
  const auto values = x.to_vector<double>();
  for (int mask = 1; mask < 1 << shape.rank(); ++mask) {
    std::vector<std::int64_t> axes;
    Shape kept, with_ones;
    std::int64_t reduced = 1;
    for (int axis = 0; axis < shape.rank(); ++axis) {
      const bool is_reduced = mask >> axis & 1;
      if (is_reduced) {
        axes.push_back(axis % 2 == 0 ? axis : axis - shape.rank());
        reduced *= shape[axis];
      } else {
        kept.push_back(shape[axis]);
      }
      with_ones.push_back(is_reduced ? 1 : shape[axis]);
    }
    SCOPED_TRACE("mask " + std::to_string(mask) + " of " + shape.to_string());
    std::vector<double> want(static_cast<std::size_t>(kept.num_elements()), start);
    for (std::int64_t i = 0; i < shape.num_elements(); ++i) {
      std::int64_t rest = i, at = 0, stride = 1;
      for (int axis = shape.rank() - 1; axis >= 0; --axis) {
        if (!(mask >> axis & 1)) {
          at += rest % shape[axis] * stride;
          stride *= shape[axis];
        }
        rest /= shape[axis];
      }
      double& total = want[static_cast<std::size_t>(at)];
      total = combine(total, values[static_cast<std::size_t>(i)]);
    }
    if (is_mean) {
      for (double& each : want) each /= static_cast<double>(reduced);
    }
    expect_tensor(reduction(x, axes, false), result, kept, want);
    expect_tensor(reduction(x, axes, true), result, with_ones, want);
  }
}

double plus(double a, double b) { return a + b; }
double times(double a, double b) { return a * b; }
double larger(double a, double b) { return std::max(a, b); }
double smaller(double a, double b) { return std::min(a, b); }
double either(double a, double b) { return a != 0 || b != 0; }
double both(double a, double b) { return a != 0 && b != 0; }
constexpr double kReducedInfinity = std::numeric_limits<double>::infinity();

DType widened(DType dtype) { return dtype == uint8 || dtype == int8 ? int32 : dtype; }
Tensor small_values(const Shape& shape, DType dtype) { return spread_tensor(shape, 0.5, 3, dtype); }

COHORT_OP_REFERENCE(Sum, all_axes, kNumbers) {
  check_all_axes(ops::sum, plus, 0, small_values({3, 4, 2, 3}, dtype), widened(dtype));
}
COHORT_OP_REFERENCE(Prod, all_axes, kNumbers) {
  check_all_axes(ops::prod, times, 1, spread_tensor({2, 2, 2}, 0.5, 1.9, dtype), widened(dtype));
}
COHORT_OP_REFERENCE(Max, all_axes, kNumbers) {
  check_all_axes(ops::max, larger, -kReducedInfinity, spread_tensor({3, 4, 2, 3}, dtype == uint8 ? 0 : -9, 9, dtype),
                 dtype);
}
COHORT_OP_REFERENCE(Min, all_axes, kNumbers) {
  check_all_axes(ops::min, smaller, kReducedInfinity, spread_tensor({3, 4, 2, 3}, dtype == uint8 ? 0 : -9, 9, dtype),
                 dtype);
}
COHORT_OP_REFERENCE(Mean, all_axes, kFloats) {
  check_all_axes(ops::mean, plus, 0, small_values({3, 4, 2, 3}, dtype), dtype, /*is_mean=*/true);
}
COHORT_OP_REFERENCE(Any, all_axes, kBool) {
  check_all_axes(ops::any, either, 0, tensor_of({0, 0, 1, 0, 1, 1, 0, 0}, {2, 2, 2}, dtype), dtype);
}
COHORT_OP_REFERENCE(All, all_axes, kBool) {
  check_all_axes(ops::all, both, 1, tensor_of({1, 1, 1, 0, 1, 1, 0, 0}, {2, 2, 2}, dtype), dtype);
}

#define REDUCTION_GRADIENT(Name, function, low, high)                                        \
  COHORT_OP_GRADIENT(Name, axes) {                                                           \
    const Tensor x = spread_tensor({2, 3, 2}, low, high);                                    \
    check_gradient([](const Tensors& x) { return ops::function(x[0]); }, {x});               \
    check_gradient([](const Tensors& x) { return ops::function(x[0], 1); }, {x});            \
    check_gradient([](const Tensors& x) { return ops::function(x[0], {0, -1}); }, {x});      \
    check_gradient([](const Tensors& x) { return ops::function(x[0], 0, keep_dims); }, {x}); \
  }
REDUCTION_GRADIENT(Sum, sum, -1, 1)
REDUCTION_GRADIENT(Mean, mean, -1, 1)
REDUCTION_GRADIENT(Prod, prod, 0.5, 2)
REDUCTION_GRADIENT(Max, max, -1, 1)
REDUCTION_GRADIENT(Min, min, -1, 1)

TEST(Prod, GradientIsRightWithZeros) {
  check_gradient([](const Tensors& x) { return ops::prod(x[0], 1); }, {tensor_of({2, 0, 3, 0, 4, 0}, {2, 3})});
  check_gradient([](const Tensors& x) { return ops::prod(x[0]); }, {tensor_of({2, 0, 3, 5}, {2, 2})});
}

TEST(Max, TiesShareTheGradient) {
  const Tensor x = tensor_of({1, 3, 3, 2}, {4});
  GradientTape tape;
  tape.watch(x);
  expect_values(tape.gradient(ops::max(x), x), {0, 0.5, 0.5, 0}, 0);
}

TEST(Max, NanWins) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> values(100, 1.0);
  values[57] = nan;
  EXPECT_TRUE(std::isnan(ops::max(tensor_of(values, {100}, float32)).item<double>()));
  EXPECT_TRUE(std::isnan(ops::min(tensor_of(values, {100}, float32)).item<double>()));
}

COHORT_OP_REFERENCE(ArgMax, each_axis, kNumbers) {
  const Tensor x = tensor_of({1, 5, 5, 7, 2, 7}, {2, 3}, dtype);
  expect_tensor(ops::argmax(x, -1), int32, {2}, {1, 0});
  expect_tensor(ops::argmax(x, 0), int32, {3}, {1, 0, 1});
  expect_tensor(ops::argmax(x, 1, keep_dims), int32, {2, 1}, {1, 0});
}
COHORT_OP_REFERENCE(ArgMin, each_axis, kNumbers) {
  const Tensor x = tensor_of({1, 5, 1, 7, 2, 2}, {2, 3}, dtype);
  expect_tensor(ops::argmin(x, -1), int32, {2}, {0, 1});
  expect_tensor(ops::argmin(x, 0), int32, {3}, {0, 1, 0});
}

TEST(LogSumExp, NeverOverflows) {
  expect_tensor(ops::logsumexp(tensor_of({1000, 1000, -1000, -1000}, {2, 2}, float32), 1), float32, {2},
                {1000 + M_LN2, -1000 + M_LN2});
  expect_values(ops::logsumexp(tensor_of({-kReducedInfinity, -kReducedInfinity}, {2})), {-kReducedInfinity}, 0);
  expect_values(ops::logsumexp(tensor_of({kReducedInfinity, 0}, {2}), {}, keep_dims), {kReducedInfinity}, 0);
  check_gradient([](const Tensors& x) { return ops::logsumexp(x[0], 1); }, {spread_tensor({2, 3}, -2, 2)});
}

TEST(Variance, IsTheMeanSquaredDistance) {
  const Tensor x = tensor_of({1, 2, 3, 4, 5, 9}, {2, 3});
  expect_tensor(ops::variance(x, 1), float64, {2}, {2.0 / 3, 14.0 / 3});
  expect_tensor(ops::standard_deviation(x, 1, keep_dims), float64, {2, 1}, {std::sqrt(2.0 / 3), std::sqrt(14.0 / 3)});
  check_gradient([](const Tensors& x) { return ops::variance(x[0], 0); }, {x});
}

TEST(Reductions, TypesAreThoseOfKeras) {
  EXPECT_EQ(ops::sum(tensor_of({1, 1}, {2}, boolean)).dtype(), int32);
  EXPECT_EQ(ops::mean(tensor_of({1, 2}, {2}, int64)).dtype(), float32);
  EXPECT_EQ(ops::sum(tensor_of({200, 200}, {2}, uint8)).item<int>(), 400);
  EXPECT_EQ(ops::count_nonzero(tensor_of({0, 3, 0, 1}, {4})).item<int>(), 2);
}

TEST(Reductions, EmptyAxesGiveTheNeutralElement) {
  const Tensor x = Tensor::of(std::vector<float>{}, {0, 3});
  expect_tensor(ops::sum(x, 0), float32, {3}, {0, 0, 0});
  expect_tensor(ops::prod(x, 0), float32, {3}, {1, 1, 1});
  expect_tensor(ops::sum(x, 1), float32, {0}, {});
  EXPECT_TRUE(std::isnan(ops::mean(x).item<double>()));
}

TEST(Reductions, RefuseBadAxes) {
  const Tensor x = spread_tensor({2, 3}, 0, 1);
  expect_error([&] { ops::sum(x, 2); }, {"Sum: ", "axis=2"});
  expect_error([&] { ops::sum(x, {1, -1}); }, {"Sum: ", "once"});
}

// Long sums are cut by shape: accurate, and the same bits for any number of threads.
TEST(Reductions, LongSumsAreAccurateAndIndependentOfThreads) {
  const int threads = ThreadPool::instance().threads();
  for (const Shape& shape :
       {Shape{1 << 20}, Shape{1 << 16, 10}, Shape{10, 1 << 16}, Shape{300, 700}, Shape{8, 500, 3, 40}}) {
    SCOPED_TRACE(shape.to_string());
    const Tensor x = spread_tensor(shape, 0, 1, float32);
    for (const ops::Axes& axes : {ops::Axes{}, ops::Axes{0}, ops::Axes{-1}}) {
      const Tensor truth = ops::sum(ops::cast(x, float64), axes).to_host();
      ThreadPool::instance().set_threads(1);
      const Tensor one = ops::sum(x, axes).to_host();
      ThreadPool::instance().set_threads(3);
      const Tensor three = ops::sum(x, axes).to_host();
      ThreadPool::instance().set_threads(threads);
      EXPECT_EQ(one.to_vector<float>(), three.to_vector<float>());
      expect_values(one, truth.to_vector<double>(), 3e-7);
    }
  }
}

}  // namespace

#undef REDUCTION_GRADIENT

}  // namespace cohort::test
