#include "cohort/ops/normalization.h"

#include <cmath>

#include "cohort/core/dispatch.h"
#include "cohort/core/mixed_types.h"
#include "cohort/core/thread_pool.h"
#include "cohort/ops/array.h"
#include "cohort/ops/math.h"
#include "cohort/ops/reduce.h"
#include "tests/support/op_check.h"

namespace cohort::test {
namespace {

using namespace ops;

constexpr double kEpsilon = 0.01;

using AxisSizes = std::vector<std::int64_t>;

// The same from plain ops, in double.
Tensor plain_norm(const Tensor& x, const Axes& axes, const Tensor& gamma, const Tensor& beta) {
  const Tensor wide = cast(x, float64);
  const Tensor r = rsqrt(variance(wide, axes, keep_dims) + kEpsilon);
  return (wide - mean(wide, axes, keep_dims)) * r * cast(gamma, float64) + cast(beta, float64);
}

COHORT_OP_REFERENCE(LayerNorm, last_axes, kFloats) {
  const Tensor x = spread_tensor({3, 2, 21}, -1, 3, dtype);
  const Tensor gamma = spread_tensor({21}, 0.5, 2, dtype, 2), beta = spread_tensor({21}, -1, 1, dtype, 3);
  const Tensor y = layer_norm(x, gamma, beta, kEpsilon);
  EXPECT_EQ(y.dtype(), dtype);
  expect_values(y, plain_norm(x, -1, gamma, beta).to_vector<double>(), 4 * tolerance(dtype));
  const Tensor wide_gamma = spread_tensor({2, 21}, 0.5, 2, dtype, 2), wide_beta = spread_tensor({2, 21}, -1, 1, dtype);
  expect_values(layer_norm(x, wide_gamma, wide_beta, kEpsilon),
                plain_norm(x, {1, 2}, wide_gamma, wide_beta).to_vector<double>(), 4 * tolerance(dtype));
}
COHORT_OP_GRADIENT(LayerNorm, all_inputs) {
  const auto norm = [](const Tensors& x) { return layer_norm(x[0], x[1], x[2], kEpsilon); };
  check_gradient(norm, {spread({2, 5}), spread({5}, 2), spread({5}, 3)}, {.tolerance = 1e-5});
  check_gradient(norm, {spread({2, 2, 3}), spread({2, 3}, 2), spread({2, 3}, 3)}, {.tolerance = 1e-5});
}
TEST(LayerNorm, statistics_have_gradients) {
  check_gradient(
      [](const Tensors& x) {
        const Tensors parts = run_op_all("LayerNorm", x, {{"epsilon", kEpsilon}});
        return parts[1] * 2.0 + square(parts[2]);
      },
      {spread({2, 4}), spread({4}, 2), spread({4}, 3)}, {.tolerance = 1e-5});
}
COHORT_OP_REFERENCE(LayerNormGrad, as_plain_ops, kFloats) {
  // Rows whose numbers are 1 and -1: mean 0, r = 1 / sqrt(1 + epsilon).
  const double r = 1 / std::sqrt(1 + kEpsilon);
  const Tensor x = tensor_of({1, -1, 1, -1}, {1, 4}, dtype), gamma = tensor_of({1, 1, 2, 1}, {4}, dtype);
  const Tensor dy = tensor_of({1, 0, 0, 0}, {1, 4}, dtype);
  const DType statistics = dtype == float64 ? float64 : float32;
  const Tensors grads =
      run_op_all("LayerNormGrad", {dy, x, gamma, tensor_of({0}, {1}, statistics), tensor_of({r}, {1}, statistics)});
  const double h = r, flow = 0.25, product = h * 0.25;
  expect_values(
      grads[0],
      {r * (1 - flow - h * product), r * (-flow + h * product), r * (-flow - h * product), r * (-flow + h * product)},
      tolerance(dtype));
  expect_values(grads[1], {h, 0, 0, 0}, tolerance(dtype));
  expect_values(grads[2], {1, 0, 0, 0}, tolerance(dtype));
}
COHORT_OP_GRADIENT(LayerNormGrad, of_what_flows_back_input_and_gamma) {
  for (int output = 0; output < 3; ++output) {
    check_gradient(
        [output](const Tensors& x) {
          const Tensors parts = run_op_all("LayerNorm", {x[1], x[2], x[2]}, {{"epsilon", kEpsilon}});
          return run_op_all("LayerNormGrad", {x[0], x[1], x[2], parts[1], parts[2]},
                            {{"epsilon", kEpsilon}})[static_cast<std::size_t>(output)];
        },
        {spread({2, 4}), spread({2, 4}, 2), spread({4}, 3)}, {.tolerance = 1e-5, .second_order = false});
  }
}

COHORT_OP_REFERENCE(BatchNorm, any_axis, kFloats) {
  const Tensor gamma = spread_tensor({3}, 0.5, 2, dtype, 2), beta = spread_tensor({3}, -1, 1, dtype, 3);
  const Tensor last = spread_tensor({4, 5, 3}, -1, 3, dtype), first = spread_tensor({4, 3, 5}, -1, 3, dtype);
  const BatchNormResult a = batch_norm(last, gamma, beta, -1, kEpsilon),
                        b = batch_norm(first, gamma, beta, 1, kEpsilon);
  EXPECT_EQ(a.mean.dtype(), dtype == float64 ? float64 : float32);
  expect_values(a.output, plain_norm(last, {0, 1}, gamma, beta).to_vector<double>(), 4 * tolerance(dtype));
  expect_values(a.mean, mean(cast(last, float64), {0, 1}).to_vector<double>(), 2 * tolerance(dtype));
  expect_values(a.variance, variance(cast(last, float64), {0, 1}).to_vector<double>(), 2 * tolerance(dtype));
  expect_values(b.output, plain_norm(first, {0, 2}, reshape(gamma, {3, 1}), reshape(beta, {3, 1})).to_vector<double>(),
                4 * tolerance(dtype));
  expect_values(b.variance, variance(cast(first, float64), {0, 2}).to_vector<double>(), 2 * tolerance(dtype));
}
TEST(BatchNorm, many_blocks_of_rows_far_from_zero) {
  const Tensor x = spread_tensor({5000, 7}, 999, 1001, float64), ones = Tensor::full({7}, 1.0, float64);
  const BatchNormResult exact = batch_norm(x, ones, ones),
                        result = batch_norm(cast(x, float32), cast(ones, float32), cast(ones, float32));
  expect_values(exact.variance, variance(x, 0).to_vector<double>(), 1e-9);
  expect_values(result.mean, exact.mean.to_vector<double>(), 1e-6);
  expect_values(result.variance, exact.variance.to_vector<double>(), 1e-3);
}
COHORT_OP_GRADIENT(BatchNorm, all_inputs) {
  for (int axis : {-1, 1}) {
    check_gradient([axis](const Tensors& x) { return batch_norm(x[0], x[1], x[2], axis, kEpsilon).output; },
                   {spread({3, 2, 2}), spread({2}, 2), spread({2}, 3)}, {.tolerance = 1e-5});
    check_gradient(
        [axis](const Tensors& x) {
          const BatchNormResult result = batch_norm(x[0], x[1], x[2], axis, kEpsilon);
          return result.mean * 3.0 + square(result.variance);
        },
        {spread({3, 2, 2}), spread({2}, 2), spread({2}, 3)}, {.tolerance = 1e-5});
  }
}
COHORT_OP_REFERENCE(BatchNormGrad, as_plain_ops, kFloats) {
  const double r = 1 / std::sqrt(1 + 1e-3);
  const Tensor x = tensor_of({1, -1, 1, -1}, {4, 1}, dtype), dy = tensor_of({1, 0, 0, 0}, {4, 1}, dtype);
  const DType statistics = dtype == float64 ? float64 : float32;
  const Tensors grads = run_op_all("BatchNormGrad", {dy, x, tensor_of({2}, {1}, dtype), tensor_of({0}, {1}, statistics),
                                                     tensor_of({1}, {1}, statistics)});
  const double product = r * r * 0.25;
  expect_values(
      grads[0],
      {2 * r * (1 - 0.25 - product), 2 * r * (-0.25 + product), 2 * r * (-0.25 - product), 2 * r * (-0.25 + product)},
      tolerance(dtype));
  expect_values(grads[1], {r}, tolerance(dtype));
  expect_values(grads[2], {1}, tolerance(dtype));
}
COHORT_OP_GRADIENT(BatchNormGrad, of_what_flows_back_input_and_gamma) {
  for (int output = 0; output < 3; ++output) {
    check_gradient(
        [output](const Tensors& x) {
          const Attributes attributes = {{"axis", 1}, {"epsilon", kEpsilon}};
          const Tensors parts = run_op_all("BatchNorm", {x[1], x[2], x[2]}, attributes);
          return run_op_all("BatchNormGrad", {x[0], x[1], x[2], parts[1], parts[2]},
                            attributes)[static_cast<std::size_t>(output)];
        },
        {spread({2, 2, 3}), spread({2, 2, 3}, 2), spread({2}, 3)}, {.tolerance = 1e-5, .second_order = false});
  }
}
COHORT_OP_REFERENCE(BatchNormFactors, y_follows_from_them, kFloats) {
  const DType computed = dtype == float64 ? float64 : float32;
  const Tensor gamma = spread_tensor({3}, 0.5, 2, computed, 2), beta = spread_tensor({3}, -1, 1, computed, 3);
  for (int axis : {2, 1}) {
    const Tensor x = spread_tensor(axis == 2 ? Shape{40, 5, 3} : Shape{40, 3, 5}, -1, 3, dtype);
    const AxisSizes along = axis == 2 ? AxisSizes{3} : AxisSizes{3, 1};
    const Tensors parts = run_op_all("BatchNormFactors", {x, gamma, beta},
                                     {{"axis", axis}, {"epsilon", kEpsilon}, {kComputeType, computed}});
    ASSERT_EQ(parts.size(), 4u);
    for (const Tensor& part : parts) EXPECT_EQ(part.spec(), (TensorSpec{computed, {3}}));
    const Tensor wide = cast(x, float64);
    const Axes others = {0, 3 - axis};
    expect_values(parts[0], mean(wide, others).to_vector<double>(), 4 * tolerance(computed));
    expect_values(parts[1], variance(wide, others).to_vector<double>(), 4 * tolerance(computed));
    const Tensor y = wide * reshape(cast(parts[2], float64), along) + reshape(cast(parts[3], float64), along);
    expect_values(y, plain_norm(x, others, reshape(gamma, along), reshape(beta, along)).to_vector<double>(),
                  8 * tolerance(computed));
  }
}
TEST(BatchNormFactors, refuse_other_types_and_shapes) {
  const Tensor x = spread({4, 3}), gamma = spread({3});
  const Attributes wide = {{kComputeType, float64}};
  expect_error(
      [&] {
        run_op_all("BatchNormFactors", {cast(x, float16), cast(gamma, float16), cast(gamma, float16)});
      },
      {"BatchNormFactors:", "type"});
  expect_error(
      [&] {
        run_op_all("BatchNormFactors", {cast(x, float16), gamma, gamma}, wide);
      },
      {"BatchNormFactors:", "type"});
  expect_error(
      [&] {
        run_op_all("BatchNormFactors", {x, gamma, spread({4})}, wide);
      },
      {"BatchNormFactors:", "channel"});
  expect_error([&] { run_op_all("BatchNormFactors", {gamma, gamma, gamma}, wide); }, {"BatchNormFactors:", "2 axes"});
}
COHORT_OP_REFERENCE(BatchNormGradFactors, dx_follows_from_them, kFloats) {
  const DType computed = dtype == float64 ? float64 : float32;
  const Tensor gamma = spread_tensor({3}, 0.5, 2, computed, 2), beta = spread_tensor({3}, -0.5, 0.5, computed, 3);
  for (int axis : {2, 1}) {
    for (bool masked : {false, true}) {
      const Shape shape = axis == 2 ? Shape{40, 5, 3} : Shape{40, 3, 5};
      const AxisSizes along = axis == 2 ? AxisSizes{3} : AxisSizes{3, 1};
      const Tensor x = spread_tensor(shape, -1, 3, dtype), dy = spread_tensor(shape, -1, 1, dtype, 4);
      const Attributes attributes = {{"axis", axis}, {"epsilon", kEpsilon}, {kComputeType, computed}};
      const Tensors forward = run_op_all("BatchNormFactors", {x, gamma, beta}, attributes);
      Tensors inputs{dy, x, gamma, forward[0], forward[1]};
      Tensor flow = cast(dy, computed);
      if (masked) {
        inputs.insert(inputs.end(), {forward[2], forward[3]});
        const Tensor y = cast(x, computed) * reshape(forward[2], along) + reshape(forward[3], along);
        flow = relu_grad(flow, cast(cast(y, dtype), computed));
      }
      const Tensors parts = run_op_all("BatchNormGradFactors", inputs, attributes);
      ASSERT_EQ(parts.size(), 5u);
      const Tensors want = run_op_all("BatchNormGrad", {flow, cast(x, computed), gamma, forward[0], forward[1]},
                                      {{"axis", axis}, {"epsilon", kEpsilon}});
      const Tensor dx =
          flow * reshape(parts[0], along) + cast(x, computed) * reshape(parts[1], along) + reshape(parts[2], along);
      const double allowed = 20 * tolerance(computed);
      expect_values(dx, want[0].to_vector<double>(), allowed);
      expect_values(parts[3], want[1].to_vector<double>(), allowed);
      expect_values(parts[4], want[2].to_vector<double>(), allowed);
    }
  }
}
TEST(BatchNormGradFactors, refuse_half_a_mask) {
  const Tensor x = spread({4, 3}), v = spread({3});
  expect_error([&] { run_op_all("BatchNormGradFactors", {x, x, v, v, v, v}); }, {"BatchNormGradFactors:", "shift"});
  expect_error(
      [&] {
        run_op_all("BatchNormGradFactors", {spread({5, 3}), x, v, v, v});
      },
      {"BatchNormGradFactors:", "shape"});
  expect_error(
      [&] {
        run_op_all("BatchNormGradFactors", {cast(x, float32), x, v, v, v});
      },
      {"BatchNormGradFactors:", "type"});
}
TEST(BatchNorm, bits_do_not_depend_on_threads) {
  ThreadPool& pool = ThreadPool::instance();
  const int threads = pool.threads();
  const Tensor x = spread_tensor({3001, 17}, -1, 1, float32), dy = spread_tensor({3001, 17}, -1, 1, float32, 2);
  const Tensor gamma = spread_tensor({17}, 0.5, 1, float32);
  std::vector<std::vector<float>> results;
  for (int each : {1, 2, 4}) {
    pool.set_threads(each);
    const Tensors batch = run_op_all("BatchNorm", {x, gamma, gamma});
    results.push_back(run_op_all("BatchNormGrad", {dy, x, gamma, batch[1], batch[2]})[0].to_vector<float>());
    const Tensors rows = run_op_all("LayerNorm", {x, gamma, gamma});
    const std::vector<float> more = run_op_all("LayerNormGrad", {dy, x, gamma, rows[1], rows[2]})[1].to_vector<float>();
    results.back().insert(results.back().end(), more.begin(), more.end());
  }
  pool.set_threads(threads);
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
}
TEST(BatchNorm, says_what_is_wrong) {
  expect_error([] { batch_norm(spread({2, 3}), spread({2}), spread({3})); }, {"BatchNorm:", "each channel", "(2, 3)"});
  expect_error([] { batch_norm(spread({3}), spread({3}), spread({3})); }, {"BatchNorm:", "2 axes"});
  expect_error([] { layer_norm(spread({2, 3}), spread({2}), spread({2})); }, {"LayerNorm:", "last axes", "(2, 3)"});
  expect_error([] { layer_norm(cast(spread({2, 3}), float32), spread({3}), spread({3})); }, {"one floating type"});
}

// Rows that a warp of a GPU holds in registers.
COHORT_OP_REFERENCE(LayerNorm, rows_of_hundreds, kFloats) {
  for (const std::int64_t width : {136, 512, 768, 1000, 1024}) {
    const Tensor x = spread_tensor({37, width}, -1, 3, dtype), dy = spread_tensor({37, width}, -1, 1, dtype, 2);
    const Tensor gamma = spread_tensor({width}, 0.5, 2, dtype, 3), beta = spread_tensor({width}, -1, 1, dtype, 4);
    const Tensor wide = cast(x, float64), flow = cast(dy, float64) * cast(gamma, float64);
    const Tensor center = mean(wide, -1, keep_dims), r = rsqrt(variance(wide, -1, keep_dims) + 0.01);
    const Tensor h = (wide - center) * r;
    const Tensors parts = run_op_all("LayerNorm", {x, gamma, beta}, {{"epsilon", 0.01}});
    expect_values(parts[0], (h * cast(gamma, float64) + cast(beta, float64)).to_vector<double>(), 4 * tolerance(dtype));
    const Tensors grads = run_op_all("LayerNormGrad", {dy, x, gamma, parts[1], parts[2]}, {{"epsilon", 0.01}});
    const Tensor dx = r * (flow - mean(flow, -1, keep_dims) - h * mean(flow * h, -1, keep_dims));
    expect_values(grads[0], dx.to_vector<double>(), 4 * tolerance(dtype));
    expect_values(grads[1], sum(cast(dy, float64) * h, 0).to_vector<double>(), 40 * tolerance(dtype));
    expect_values(grads[2], sum(cast(dy, float64), 0).to_vector<double>(), 40 * tolerance(dtype));
  }
}

}  // namespace
}  // namespace cohort::test
