#include "cohort/ops/conv.h"

#include <algorithm>
#include <cmath>

#include "cohort/autodiff/tape.h"
#include "cohort/core/dispatch.h"
#include "cohort/core/tensor_float_32.h"
#include "cohort/core/text.h"
#include "cohort/core/thread_pool.h"
#include "cohort/ops/cast.h"
#include "cohort/ops/conv_window.h"
#include "cohort/ops/math.h"
#include "cohort/ops/reduce.h"
#include "tests/support/op_check.h"
#include "tests/support/patience.h"

namespace cohort::test {
namespace {

using namespace ops;
using Sizes = std::vector<std::int64_t>;
using Values = std::vector<double>;

std::int64_t axis_or_one(const Shape& shape, int axis, int spatial) {
  return axis < 3 - spatial ? 1 : shape[axis - (3 - spatial)];
}

// Calls visit(x index, kernel index, y index) for every product in the definition of a convolution.
template <class Visit>
Shape each_product(const Shape& x, const Shape& kernel, const ConvOptions& options, const Visit& visit) {
  const int spatial = x.rank() - 2;
  ConvWindow windows[3];
  Shape y = {x[0]};
  for (int i = 0; i < 3; ++i) {
    if (i < 3 - spatial) continue;
    const auto at = [&](const Sizes& sizes) {
      return sizes[sizes.size() == 1 ? 0 : static_cast<std::size_t>(i - 3 + spatial)];
    };
    windows[i] = padded_window(axis_or_one(x.slice(1), i, spatial), axis_or_one(kernel, i, spatial),
                               at(options.strides), at(options.dilation_rate), options.padding);
    y.push_back(windows[i].outputs);
  }
  y.push_back(kernel.back());
  const std::int64_t channels = x.back(), filters = kernel.back(), of_group = kernel.dim(-2);
  const std::int64_t group_filters = filters / (channels / of_group);
  std::int64_t y_at = 0;
  for (std::int64_t n = 0; n < x[0]; ++n)
    for (std::int64_t o0 = 0; o0 < windows[0].outputs; ++o0)
      for (std::int64_t o1 = 0; o1 < windows[1].outputs; ++o1)
        for (std::int64_t o2 = 0; o2 < windows[2].outputs; ++o2)
          for (std::int64_t f = 0; f < filters; ++f, ++y_at) {
            std::int64_t tap = 0;
            for (std::int64_t t0 = 0; t0 < windows[0].taps; ++t0)
              for (std::int64_t t1 = 0; t1 < windows[1].taps; ++t1)
                for (std::int64_t t2 = 0; t2 < windows[2].taps; ++t2, ++tap) {
                  const std::int64_t i0 = windows[0].input_at(o0, t0), i1 = windows[1].input_at(o1, t1),
                                     i2 = windows[2].input_at(o2, t2);
                  if (i0 < 0 || i1 < 0 || i2 < 0) continue;
                  const std::int64_t pixel =
                      ((n * windows[0].inputs + i0) * windows[1].inputs + i1) * windows[2].inputs + i2;
                  for (std::int64_t c = 0; c < of_group; ++c) {
                    visit(static_cast<std::size_t>(pixel * channels + f / group_filters * of_group + c),
                          static_cast<std::size_t>((tap * of_group + c) * filters + f), static_cast<std::size_t>(y_at));
                  }
                }
          }
  return y;
}

struct Case {
  Shape x, kernel;
  ConvOptions options = {};
};

// Every number of axes, padding, strides, dilations and groups; widths that fill tiles of the kernels, that end in the
// middle of one, and sums long enough to be taken in parts.
std::vector<Case> cases() {
  return {
      {{2, 6, 7, 3}, {3, 2, 3, 4}},
      {{2, 6, 7, 3}, {3, 2, 3, 4}, {.strides = {2, 1}, .padding = "same"}},
      {{2, 6, 7, 3}, {3, 2, 3, 4}, {.dilation_rate = {2, 3}}},
      {{2, 6, 7, 3}, {3, 2, 3, 4}, {.strides = {2, 3}, .padding = "same"}},
      {{3, 9, 4}, {3, 4, 5}, {.padding = "causal", .dilation_rate = {2}}},
      {{3, 9, 4}, {2, 4, 8}, {.strides = {2}, .padding = "causal"}},
      {{2, 8, 6}, {3, 2, 9}, {.padding = "same"}},
      {{1, 4, 5, 6, 2}, {2, 3, 2, 2, 3}, {.strides = {1, 2, 1}, .padding = "same"}},
      {{2, 3, 4, 5, 4}, {2, 2, 3, 2, 10}, {.dilation_rate = {1, 2, 1}}},
      {{2, 7, 6, 6}, {3, 3, 2, 9}, {.padding = "same"}},
      {{2, 7, 6, 3}, {3, 3, 1, 3}, {.strides = {2}, .padding = "same"}},
      {{2, 7, 6, 3}, {3, 2, 1, 6}, {.dilation_rate = {2}}},
      {{3, 9, 8, 16}, {3, 3, 16, 24}},
      {{2, 5, 5, 60}, {3, 3, 60, 8}, {.padding = "same"}},
      {{20, 3, 3, 8}, {2, 2, 8, 17}},
      {{2, 12, 11, 1}, {3, 3, 1, 32}},
      {{1, 7, 40, 2}, {3, 2, 2, 6}, {.padding = "same", .dilation_rate = {3}}},
      {{1, 9, 33, 4}, {3, 3, 4, 20}, {.strides = {2}, .padding = "same"}},
      {{2, 1, 1, 1}, {3, 3, 1, 5}, {.padding = "same"}},
  };
}
// The options as the ops of gradients get them.
Attributes attributes_of(const Case& c) {
  Sizes strides = c.options.strides, dilations = c.options.dilation_rate;
  strides.resize(static_cast<std::size_t>(c.x.rank() - 2), strides[0]);
  dilations.resize(strides.size(), dilations[0]);
  return {{"strides", strides},
          {"dilations", dilations},
          {"padding", c.options.padding},
          {"groups", c.x.back() / c.kernel.dim(-2)}};
}
// 16-bit floats round each operand; a long sum of them has nothing more to show.
bool too_long(const Case& c, DType dtype) { return size_of(dtype) < 4 && c.kernel.num_elements() > 1000; }

TEST(ConvWindow, sizes_and_padding_as_keras) {
  EXPECT_EQ(conv_window(28, 3, 1, 1, false).outputs, 26);
  EXPECT_EQ(conv_window(28, 3, 2, 1, false).outputs, 13);
  EXPECT_EQ(conv_window(28, 3, 1, 2, false).outputs, 24);
  EXPECT_EQ(conv_window(28, 3, 1, 1, true).outputs, 28);
  EXPECT_EQ(conv_window(28, 3, 2, 1, true).outputs, 14);
  EXPECT_EQ(conv_window(28, 3, 2, 1, true).before, 0);  // one row of padding goes to the end
  EXPECT_EQ(conv_window(2, 3, 1, 1, false).outputs, 0);
  EXPECT_EQ(padded_window(10, 3, 1, 2, "causal").before, 4);
  EXPECT_EQ(padded_window(10, 3, 3, 1, "causal").outputs, 4);
  EXPECT_TRUE(conv_window(28, 3, 1, 1, false).inside());
  EXPECT_FALSE(conv_window(28, 3, 2, 1, true).inside());
}

Values of(const Tensor& x) { return x.to_vector<double>(); }

COHORT_OP_REFERENCE(Conv, every_option, kFloats) {
  for (const Case& c : cases()) {
    if (too_long(c, dtype)) continue;
    SCOPED_TRACE(c.x.to_string() + c.kernel.to_string());
    const Tensor x = spread_tensor(c.x, -1, 1, dtype), kernel = spread_tensor(c.kernel, -1, 1, dtype, 2);
    const Values xs = of(x), ks = of(kernel);
    Values ys(10000, 0.0);
    const Shape shape = each_product(c.x, c.kernel, c.options,
                                     [&](std::size_t i, std::size_t k, std::size_t o) { ys[o] += xs[i] * ks[k]; });
    ys.resize(static_cast<std::size_t>(shape.num_elements()));
    const Tensor y = conv(x, kernel, c.options);
    EXPECT_EQ(y.dtype(), dtype);
    EXPECT_EQ(y.shape(), shape);
    expect_values(y, ys, 8 * tolerance(dtype));
  }
}
COHORT_OP_GRADIENT(Conv, by_axes) {
  check_gradient(
      [](const Tensors& x) {
        return conv(x[0], x[1], {.strides = {2, 1}, .padding = "same"});
      },
      {spread({2, 3, 3, 2}), spread({2, 2, 2, 2}, 2)});
  check_gradient(
      [](const Tensors& x) {
        return conv(x[0], x[1], {.dilation_rate = {1, 2}});
      },
      {spread({2, 3, 4, 1}), spread({2, 2, 1, 2}, 2)});
  check_gradient([](const Tensors& x) { return conv(x[0], x[1], {.padding = "causal"}); },
                 {spread({2, 4, 4}), spread({2, 2, 4}, 2)});
  check_gradient([](const Tensors& x) { return conv(x[0], x[1]); },
                 {spread({2, 2, 3, 2, 1}), spread({1, 2, 2, 1, 2}, 2)});
}
TEST(Conv, says_what_is_wrong) {
  expect_error(
      [] {
        conv(spread({32, 784}), spread({3, 3, 1, 4}));
      },
      {"Conv:", "3 to 5 axes (batch, spatial axes, channels)", "input.shape=(32, 784)"});
  expect_error([] { conv(spread({1, 5, 5, 2}), spread({3, 1, 4})); }, {"Conv:", "as many axes as the input"});
  expect_error([] { conv(spread({1, 5, 5, 2}), spread({3, 3, 3, 4})); }, {"Conv:", "input's channels"});
  expect_error([] { conv(spread({1, 5, 5, 2}), spread({3, 3, 1, 3})); }, {"Conv:", "divisible by groups"});
  expect_error([] { conv(spread({1, 2, 2, 1}), spread({3, 3, 1, 4})); }, {"Conv:", "must fit"});
  expect_error([] { conv(spread({1, 5, 5, 1}), spread({3, 3, 1, 4}), {.padding = "full"}); }, {"padding=full"});
  expect_error([] { conv(spread({1, 5, 5, 1}), spread({3, 3, 1, 4}), {.padding = "causal"}); }, {"padding=causal"});
  expect_error([] { conv(spread({1, 5, 5, 1}), spread({3, 3, 1, 4}), {.strides = {0}}); }, {"strides"});
  expect_error([] { conv(spread({1, 5, 5, 1}), spread({3, 3, 1, 4}), {.data_format = "nchw"}); }, {"data_format"});
}
TEST(Conv, takes_channels_first) {
  const Tensor x = spread({2, 3, 5, 4}), kernel = spread({2, 2, 3, 4}, 2);
  const Tensor last = conv(run_op("Transpose", {x}, {{"perm", Sizes{0, 2, 3, 1}}}), kernel);
  const Tensor first = conv(x, kernel, {.data_format = "channels_first"});
  EXPECT_EQ(first.shape(), (Shape{2, 4, 4, 3}));
  expect_values(run_op("Transpose", {first}, {{"perm", Sizes{0, 2, 3, 1}}}), of(last), 1e-12);
}
TEST(Conv, an_empty_batch_gives_an_empty_image) {
  EXPECT_EQ(conv(spread({0, 5, 5, 2}), spread({3, 3, 2, 4})).shape(), (Shape{0, 3, 3, 4}));
}

COHORT_OP_REFERENCE(ConvGradInput, transposes_the_convolution, kFloats) {
  for (const Case& c : cases()) {
    if (too_long(c, dtype)) continue;
    SCOPED_TRACE(c.x.to_string() + c.kernel.to_string());
    const Tensor x = spread_tensor(c.x, -1, 1, dtype), kernel = spread_tensor(c.kernel, -1, 1, dtype, 2);
    const Tensor dy = spread_tensor(conv(x, kernel, c.options).shape(), -1, 1, dtype, 3);
    const Values ks = of(kernel), dys = of(dy);
    Values dxs(static_cast<std::size_t>(c.x.num_elements()), 0.0);
    each_product(c.x, c.kernel, c.options,
                 [&](std::size_t i, std::size_t k, std::size_t o) { dxs[i] += dys[o] * ks[k]; });
    const Tensor dx = run_op("ConvGradInput", {dy, kernel, x}, attributes_of(c));
    EXPECT_EQ(dx.shape(), x.shape());
    expect_values(dx, dxs, 8 * tolerance(dtype));
  }
}
const Attributes kPlane = {{"strides", Sizes{1, 1}}, {"dilations", Sizes{1, 1}}};
COHORT_OP_GRADIENT(ConvGradInput, both_inputs) {
  check_gradient([](const Tensors& x) { return run_op("ConvGradInput", x, kPlane); },
                 {spread({2, 2, 2, 1}), spread({2, 2, 2, 1}, 2), spread({2, 3, 3, 2}, 3)});
}
TEST(ConvGradInput, refuses_a_gradient_of_another_shape) {
  expect_error(
      [] {
        run_op("ConvGradInput", {spread({2, 3, 2, 1}), spread({2, 2, 2, 1}), spread({2, 3, 3, 2})}, kPlane);
      },
      {"ConvGradInput:", "shape of the convolution", "dy.shape=(2, 3, 2, 1)"});
}

COHORT_OP_REFERENCE(ConvGradKernel, sums_over_the_batch, kFloats) {
  for (const Case& c : cases()) {
    if (too_long(c, dtype)) continue;
    SCOPED_TRACE(c.x.to_string() + c.kernel.to_string());
    const Tensor x = spread_tensor(c.x, -1, 1, dtype), kernel = spread_tensor(c.kernel, -1, 1, dtype, 2);
    const Tensor dy = spread_tensor(conv(x, kernel, c.options).shape(), -1, 1, dtype, 3);
    const Values xs = of(x), dys = of(dy);
    Values dks(static_cast<std::size_t>(c.kernel.num_elements()), 0.0);
    each_product(c.x, c.kernel, c.options,
                 [&](std::size_t i, std::size_t k, std::size_t o) { dks[k] += dys[o] * xs[i]; });
    const Tensor dkernel = run_op("ConvGradKernel", {x, dy, kernel}, attributes_of(c));
    EXPECT_EQ(dkernel.shape(), kernel.shape());
    expect_values(dkernel, dks, 8 * tolerance(dtype));
  }
}
COHORT_OP_GRADIENT(ConvGradKernel, both_inputs) {
  check_gradient([](const Tensors& x) { return run_op("ConvGradKernel", x, kPlane); },
                 {spread({2, 3, 3, 2}), spread({2, 2, 2, 1}, 2), spread({2, 2, 2, 1}, 3)});
}
TEST(ConvGradKernel, an_empty_batch_gives_zeros) {
  const Tensor dkernel =
      run_op("ConvGradKernel", {spread({0, 3, 3, 2}), spread({0, 2, 2, 4}), spread({2, 2, 2, 4})}, kPlane);
  expect_values(dkernel, Values(32, 0.0), 0);
}

// The sum of each column of a tensor's last axis.
Values column_sums(const Tensor& x) {
  const Values values = of(x);
  Values sums(static_cast<std::size_t>(x.shape().back()), 0.0);
  for (std::size_t i = 0; i < values.size(); ++i) sums[i % sums.size()] += values[i];
  return sums;
}
COHORT_OP_REFERENCE(ConvBiasGrad, kernel_and_sums, kFloats) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.x.to_string() + c.kernel.to_string());
    const Tensor x = spread_tensor(c.x, -1, 1, dtype), kernel = spread_tensor(c.kernel, -1, 1, dtype, 2);
    const Tensor dy = spread_tensor(conv(x, kernel, c.options).shape(), -1, 1, dtype, 3);
    const Tensors both = run_op_all("ConvBiasGrad", {x, dy, kernel}, attributes_of(c));
    EXPECT_EQ(both[0].spec(), kernel.spec());
    const Tensor dkernel = run_op("ConvGradKernel", {x, dy, kernel}, attributes_of(c));
    expect_values(both[0], of(dkernel), 8 * tolerance(dtype));
    EXPECT_EQ(both[1].spec(), (TensorSpec{dtype, {c.kernel.back()}}));
    expect_values(both[1], column_sums(dy), 8 * tolerance(dtype));
  }
}
TEST(ConvBiasGrad, an_empty_batch_gives_zeros) {
  const Tensors both =
      run_op_all("ConvBiasGrad", {spread({0, 3, 3, 2}), spread({0, 2, 2, 4}), spread({2, 2, 2, 4})}, kPlane);
  expect_values(both[0], Values(32, 0.0), 0);
  expect_values(both[1], Values(4, 0.0), 0);
}
TEST(ConvBiasGrad, refuses_a_gradient_of_another_shape) {
  expect_error(
      [] {
        run_op_all("ConvBiasGrad", {spread({2, 3, 3, 2}), spread({2, 3, 2, 4}), spread({2, 2, 2, 4})}, kPlane);
      },
      {"ConvBiasGrad:", "shape of the convolution", "dy.shape=(2, 3, 2, 4)"});
}

// A transposed convolution is the input gradient of one from the larger image, whatever its size.
COHORT_OP_REFERENCE(ConvTranspose, sizes_and_values, kFloats) {
  const Tensor x = spread_tensor({2, 3, 4, 3}, -1, 1, dtype), kernel = spread_tensor({3, 2, 4, 3}, -1, 1, dtype, 2);
  const auto check = [&](const ConvTransposeOptions& options, std::int64_t height, std::int64_t width) {
    const Tensor y = conv_transpose(x, kernel, options);
    EXPECT_EQ(y.shape(), (Shape{2, height, width, 4}));
    Values want(static_cast<std::size_t>(y.shape().num_elements()), 0.0);
    const Values xs = of(x), ks = of(kernel);
    each_product(y.shape(), kernel.shape(),
                 {.strides = options.strides, .padding = options.padding, .dilation_rate = options.dilation_rate},
                 [&](std::size_t i, std::size_t k, std::size_t o) { want[i] += xs[o] * ks[k]; });
    expect_values(y, want, 8 * tolerance(dtype));
  };
  check({}, 5, 5);
  check({.strides = {2}}, 7, 8);
  check({.strides = {2, 3}, .padding = "same"}, 6, 12);
  check({.strides = {2}, .output_padding = Sizes{1, 0}}, 8, 8);
  check({.strides = {2}, .padding = "same", .output_padding = Sizes{0, 1}}, 5, 7);
  check({.padding = "same", .dilation_rate = {2, 1}}, 3, 4);
}
COHORT_OP_GRADIENT(ConvTranspose, strided) {
  check_gradient(
      [](const Tensors& x) {
        return conv_transpose(x[0], x[1], {.strides = {2, 1}, .padding = "same"});
      },
      {spread({2, 2, 3, 1}), spread({2, 2, 2, 1}, 2)});
  check_gradient(
      [](const Tensors& x) { return conv_transpose(x[0], x[1], {.strides = {2}, .output_padding = Sizes{1}}); },
      {spread({2, 2, 2}), spread({3, 2, 2}, 2)});
}
TEST(ConvTranspose, says_what_is_wrong) {
  expect_error([] { conv_transpose(spread({1, 3, 3, 2}), spread({2, 2, 4, 3})); }, {"ConvTranspose:", "channels"});
  expect_error(
      [] {
        conv_transpose(spread({1, 3, 3, 2}), spread({2, 2, 4, 2}), {.padding = "same", .output_padding = Sizes{0}});
      },
      {"ConvTranspose:", "whose convolution has the input's shape"});
}

TEST(DepthwiseConv, has_filters_of_its_own_for_each_channel) {
  const Tensor x = spread({2, 5, 4, 3}), kernel = spread({2, 2, 3, 2}, 2);
  const Values xs = of(x), ks = of(kernel);
  Values want(2 * 4 * 3 * 6, 0.0);
  each_product({2, 5, 4, 3}, {2, 2, 1, 6}, {},
               [&](std::size_t i, std::size_t k, std::size_t o) { want[o] += xs[i] * ks[k]; });
  expect_values(depthwise_conv(x, kernel), want, 1e-12);
  check_gradient([](const Tensors& t) { return depthwise_conv(t[0], t[1], {.strides = {2}}); },
                 {spread({2, 3, 3, 2}), spread({2, 2, 2, 2}, 2)});
  expect_error([] { depthwise_conv(spread({1, 5, 5, 2}), spread({2, 2, 3, 1})); }, {"depthwise_conv", "channels"});
}

TEST(SeparableConv, is_two_convolutions) {
  const Tensor x = spread({2, 5, 4, 3}), kernel = spread({2, 2, 3, 2}, 2), pointwise = spread({1, 1, 6, 4}, 3);
  expect_values(separable_conv(x, kernel, pointwise, {.padding = "same"}),
                of(conv(depthwise_conv(x, kernel, {.padding = "same"}), pointwise)), 1e-12);
}

COHORT_OP_REFERENCE(FusedConv, same_bits_as_its_parts, kFloats) {
  for (const Case& c : cases()) {
    if (c.x.rank() != 4 || c.options.strides.size() != 1 || c.options.dilation_rate.size() != 1) continue;
    const Tensor x = spread_tensor(c.x, -1, 1, dtype), kernel = spread_tensor(c.kernel, -1, 1, dtype, 2);
    const Tensor bias = spread_tensor({c.kernel.back()}, -1, 1, dtype, 3);
    const Tensor plain = conv(x, kernel, c.options) + bias;
    const auto fused = [&](const char* activation) {
      return of(run_op("FusedConv", {x, kernel, bias},
                       {{"strides", Sizes{c.options.strides[0], c.options.strides[0]}},
                        {"dilations", Sizes{c.options.dilation_rate[0], c.options.dilation_rate[0]}},
                        {"padding", c.options.padding},
                        {"groups", c.x.back() / c.kernel.dim(-2)},
                        {"activation", activation}}));
    };
    EXPECT_EQ(fused(""), of(plain));
    EXPECT_EQ(fused("Relu"), of(relu(plain)));
    EXPECT_EQ(fused("Tanh"), of(tanh(plain)));
  }
}
TEST(FusedConv, refuses_a_bias_of_another_size) {
  expect_error(
      [] {
        run_op("FusedConv", {spread({1, 3, 3, 2}), spread({2, 2, 2, 4}), spread({3})}, kPlane);
      },
      {"FusedConv:", "bias"});
}

// Output and both gradients of a convolution, or of a transposed one, in one type.
struct Flowed {
  Values y, dx, dkernel;
};
template <class Convolve>
Flowed flow_through(const Tensor& x, const Tensor& kernel, DType dtype, const Convolve& convolve) {
  GradientTape tape;
  const Tensor in = cast(x, dtype), weights = cast(kernel, dtype);
  tape.watch(in);
  tape.watch(weights);
  const Tensor y = convolve(in, weights);
  const Tensor flow = cast(spread_tensor(y.shape(), -1, 1, float32, 5), dtype);
  const Gradients g = tape.gradient(y, std::vector<Tensor>{in, weights}, flow);
  const auto values = [](const Tensor& t) { return cast(t, float64).to_vector<double>(); };
  return {values(y), values(g[0]), values(g[1])};
}

// By the share of the largest number: sums of many products cancel out.
void expect_near_largest(const char* what, const Values& seen, const Values& wanted, double tolerance) {
  double largest = 0, worst = 0;
  ASSERT_EQ(seen.size(), wanted.size());
  for (std::size_t i = 0; i < seen.size(); ++i) {
    largest = std::max(largest, std::abs(wanted[i]));
    worst = std::max(worst, std::abs(seen[i] - wanted[i]));
  }
  EXPECT_LE(worst, tolerance * largest) << what;
}

// Output and gradients in a type beside those in float64, by the share of the largest number.
template <class Convolve>
void expect_as_in_float64(const Tensor& x, const Tensor& kernel, DType dtype, double tolerance,
                          const Convolve& convolve) {
  // What the narrow type cannot hold is not there in the first place.
  const Tensor narrow_x = cast(cast(x, dtype), float64), narrow_kernel = cast(cast(kernel, dtype), float64);
  const Flowed wanted = flow_through(narrow_x, narrow_kernel, float64, convolve);
  const Flowed seen = flow_through(narrow_x, narrow_kernel, dtype, convolve);
  expect_near_largest("output", seen.y, wanted.y, tolerance);
  expect_near_largest("gradient of the image", seen.dx, wanted.dx, tolerance);
  expect_near_largest("gradient of the kernel", seen.dkernel, wanted.dkernel, tolerance);
}
double share_of_largest(DType dtype) { return dtype == bfloat16 ? 3e-2 : dtype == float16 ? 4e-3 : 2e-5; }

// Libraries compute other types than float64 by other ways, which depend on channels and paddings.
COHORT_OP_REFERENCE(Conv, windows_of_many_kinds, kFloats) {
  const auto compare = [&](const Tensor& x, const Tensor& kernel, const auto& convolve) {
    expect_as_in_float64(x, kernel, dtype, share_of_largest(dtype), convolve);
  };
  for (std::int64_t channels : {2, 3, 8, 16}) {
    for (std::int64_t taps : {1, 2, 3, 4}) {
      for (std::int64_t stride : {1, 2}) {
        for (const char* padding : {"valid", "same"}) {
          SCOPED_TRACE(join(std::vector<std::string>{std::to_string(channels), std::to_string(taps),
                                                     std::to_string(stride), padding}));
          const Tensor x = spread_tensor({2, 9, 10, channels}, -1, 1, float32, 1);
          compare(
              x, spread_tensor({taps, taps, channels, 8}, -1, 1, float32, 2),
              [&](const Tensor& a, const Tensor& b) { return conv(a, b, {.strides = {stride}, .padding = padding}); });
          compare(
              x, spread_tensor({taps, taps, channels, 3}, -1, 1, float32, 6),
              [&](const Tensor& a, const Tensor& b) { return conv(a, b, {.strides = {stride}, .padding = padding}); });
          const Tensor small = spread_tensor({2, 5, 4, channels}, -1, 1, float32, 3);
          for (bool longer : {false, true}) {
            if (longer && stride == 1) continue;
            ConvTransposeOptions options{.strides = {stride}, .padding = padding};
            if (longer) options.output_padding = Sizes{1};
            compare(small, spread_tensor({taps, taps, 8, channels}, -1, 1, float32, 4),
                    [&](const Tensor& a, const Tensor& b) { return conv_transpose(a, b, options); });
          }
        }
      }
    }
  }
}

// Kernels for few channels cut images into tiles and filters into vectors: sizes that fill them, that end in the middle
// of one, and windows that reach far beyond a tiny image.
COHORT_OP_REFERENCE(Conv, few_channels_of_many_sizes, kFloats) {
  const auto compare = [&](const Shape& x, const Shape& kernel, const ConvOptions& options) {
    SCOPED_TRACE(x.to_string() + kernel.to_string() + options.padding);
    expect_as_in_float64(spread_tensor(x, -1, 1, float32, 1), spread_tensor(kernel, -1, 1, float32, 2), dtype,
                         share_of_largest(dtype),
                         [&](const Tensor& a, const Tensor& b) { return conv(a, b, options); });
  };
  for (std::int64_t channels : {1, 2, 3, 4, 5}) {
    for (std::int64_t filters : {1, 3, 8, 20, 33}) {
      for (const char* padding : {"valid", "same"}) {
        compare({2, 9, 10, channels}, {3, 2, channels, filters}, {.padding = padding});
        compare({1, 9, 10, channels}, {2, 3, channels, filters}, {.strides = {2, 3}, .padding = padding});
        compare({1, 9, 10, channels}, {3, 3, channels, filters}, {.padding = padding, .dilation_rate = {2, 3}});
      }
    }
    compare({3, 70, channels}, {4, channels, 12}, {.padding = "causal", .dilation_rate = {2}});
    compare({2, 1, 2, channels}, {5, 5, channels, 7}, {.padding = "same"});
  }
  compare({3, 40, 70, 1}, {3, 3, 1, 32}, {});
  compare({1, 7, 130, 3}, {5, 5, 3, 72}, {.strides = {2, 3}, .padding = "same"});
  compare({40, 26, 26, 2}, {3, 3, 2, 8}, {.padding = "same"});
}

// Kernels read neighbouring outputs of a row together, and filters by whole vectors: rows that fill tiles, end in the
// middle of one and are too short for any, rows in the padding, pixels a page apart.
COHORT_OP_REFERENCE(Conv, rows_of_many_widths, kFloats) {
  const auto compare = [&](const Shape& x, const Shape& kernel, const ConvOptions& options) {
    SCOPED_TRACE(x.to_string() + kernel.to_string() + options.padding);
    expect_as_in_float64(spread_tensor(x, -1, 1, float32, 1), spread_tensor(kernel, -1, 1, float32, 2), dtype,
                         share_of_largest(dtype),
                         [&](const Tensor& a, const Tensor& b) { return conv(a, b, options); });
  };
  for (std::int64_t width : {3, 4, 5, 12, 13, 24, 27, 37}) {
    compare({2, 5, width + 2, 3}, {3, 3, 3, 16}, {});
    compare({2, 4, width, 5}, {3, 1, 5, 48}, {.padding = "same"});
    compare({2, 5, 2 * width + 1, 2}, {2, 3, 2, 32}, {.strides = {1, 2}});
  }
  compare({3, 50, 4}, {5, 4, 80}, {});
  compare({3, 50, 4}, {1, 4, 16}, {.padding = "causal"});
  compare({2, 4, 5, 9, 3}, {2, 3, 2, 3, 16}, {});
  compare({1, 3, 8, 1024}, {1, 1, 1024, 16}, {});
  compare({1, 3, 9, 200}, {3, 3, 200, 32}, {});
}

// So large that libraries compute it, over cells of 2 x 2 pixels; the last one by pieces of the batch.
COHORT_OP_REFERENCE(Conv, first_layers_of_large_networks, (std::vector<DType>{float16, bfloat16})) {
  const auto compare = [&](const Shape& x, const Shape& kernel, const char* padding) {
    SCOPED_TRACE(x.to_string() + kernel.to_string() + padding);
    expect_as_in_float64(
        spread_tensor(x, -1, 1, float32, 1), spread_tensor(kernel, -1, 1, float32, 2), dtype, share_of_largest(dtype),
        [&](const Tensor& a, const Tensor& b) { return conv(a, b, {.strides = {2}, .padding = padding}); });
  };
  compare({16, 64, 63, 3}, {7, 7, 3, 64}, "same");
  compare({20, 61, 62, 3}, {7, 7, 3, 64}, "valid");
  if (kTimesSlower > 1) return;  // minutes under a sanitizer
  compare({32, 65, 50, 4}, {5, 5, 4, 64}, "same");
  compare({20, 50, 41, 1}, {7, 6, 1, 320}, "valid");
  compare({26, 400, 400, 4}, {3, 3, 4, 8}, "same");
}

class TensorFloatAllowed {
 public:
  TensorFloatAllowed() { enable_tensor_float_32_execution(true); }
  ~TensorFloatAllowed() { enable_tensor_float_32_execution(before_); }

 private:
  bool before_ = tensor_float_32_execution_enabled();
};

// Operands keep 10 bits where a device may round them; where it does not, the results are only better.
TEST(Conv, of_tensor_float_32_is_near_that_of_float64) {
  const TensorFloatAllowed allowed;
  // Batches that no other test has: kernels that were made for these sizes are kept.
  const auto compare = [&](const Shape& x, const Shape& kernel, const ConvOptions& options) {
    SCOPED_TRACE(x.to_string() + kernel.to_string() + options.padding);
    expect_as_in_float64(spread_tensor(x, -1, 1, float32, 1), spread_tensor(kernel, -1, 1, float32, 2), float32, 2e-3,
                         [&](const Tensor& a, const Tensor& b) { return conv(a, b, options); });
  };
  for (std::int64_t channels : {4, 12, 16, 32, 36}) {
    for (std::int64_t filters : {4, 8, 32, 40, 68}) {
      for (const char* padding : {"valid", "same"}) {
        compare({7, 9, 10, channels}, {3, 2, channels, filters}, {.padding = padding});
        compare({7, 9, 10, channels}, {3, 3, channels, filters}, {.strides = {2, 1}, .padding = padding});
        compare({7, 9, 10, channels}, {2, 3, channels, filters}, {.padding = padding, .dilation_rate = {1, 2}});
      }
    }
  }
  compare({7, 70, 8}, {4, 8, 12}, {.padding = "causal", .dilation_rate = {2}});
  compare({23, 13, 13, 32}, {3, 3, 32, 64}, {});
  compare({23, 3, 2, 8}, {5, 5, 8, 16}, {.padding = "same"});
  // Enough pixels for the larger of a GPU's blocks, with many columns and with few.
  compare({77, 13, 13, 40}, {3, 3, 40, 40}, {.padding = "same"});
  compare({131, 13, 13, 8}, {2, 2, 8, 8}, {});
}
TEST(FusedConv, of_tensor_float_32_has_the_bits_of_its_parts) {
  const TensorFloatAllowed allowed;
  const Case many[] = {{{29, 9, 10, 16}, {3, 2, 16, 40}}, {{29, 9, 10, 8}, {3, 3, 8, 12}, {.padding = "same"}}};
  for (const Case& c : many) {
    const Tensor x = spread_tensor(c.x, -1, 1, float32), kernel = spread_tensor(c.kernel, -1, 1, float32, 2);
    const Tensor bias = spread_tensor({c.kernel.back()}, -1, 1, float32, 3);
    const Tensor plain = conv(x, kernel, c.options) + bias;
    const auto fused = [&](const char* activation) {
      Attributes attributes = attributes_of(c);
      attributes.set("activation", activation);
      return of(run_op("FusedConv", {x, kernel, bias}, attributes));
    };
    EXPECT_EQ(fused(""), of(plain));
    EXPECT_EQ(fused("Relu"), of(relu(plain)));
    EXPECT_EQ(fused("Sigmoid"), of(sigmoid(plain)));
  }
}
// What is added up is not rounded, however the products beside it are.
TEST(ConvBiasGrad, of_tensor_float_32_has_the_sums_of_float32) {
  const TensorFloatAllowed allowed;
  for (std::int64_t filters : {4, 32, 40, 68}) {
    for (std::int64_t batch : {1, 31}) {
      const Case c{{batch, 9, 10, 12}, {3, 3, 12, filters}, {.padding = "same"}};
      const Tensor x = spread_tensor(c.x, -1, 1, float32), kernel = spread_tensor(c.kernel, -1, 1, float32, 2);
      const Tensor dy = spread_tensor({batch, 9, 10, filters}, -1, 1, float32, 3);
      const Tensors both = run_op_all("ConvBiasGrad", {x, dy, kernel}, attributes_of(c));
      Values dks(static_cast<std::size_t>(c.kernel.num_elements()), 0.0);
      const Values xs = of(x), dys = of(dy);
      each_product(c.x, c.kernel, c.options,
                   [&](std::size_t i, std::size_t k, std::size_t o) { dks[k] += dys[o] * xs[i]; });
      expect_near_largest("kernel", of(both[0]), dks, 2e-3);
      expect_near_largest("sums", of(both[1]), column_sums(dy), 2e-6);
    }
  }
}

TEST(Conv, has_the_same_bits_on_any_number_of_threads) {
  const Tensor x = spread_tensor({24, 9, 9, 8}, -1, 1, float32),
               kernel = spread_tensor({3, 3, 8, 16}, -1, 1, float32, 2);
  const Tensor dy = spread_tensor({24, 7, 7, 16}, -1, 1, float32, 3);
  const int threads = ThreadPool::instance().threads();
  std::vector<std::vector<Values>> results;
  for (int count : {1, 2, 3, 5, 8, 16}) {
    ThreadPool::instance().set_threads(count);
    results.push_back({of(conv(x, kernel)), of(run_op("ConvGradInput", {dy, kernel, x}, kPlane)),
                       of(run_op("ConvGradKernel", {x, dy, kernel}, kPlane))});
  }
  ThreadPool::instance().set_threads(threads);
  for (const auto& result : results) EXPECT_EQ(result, results[0]);
}

// More than is widened at once: eight of these images are.
TEST(Conv, of_half_types_takes_some_images_at_a_time) {
  const Tensor x = cast(spread_tensor({9, 1024, 1024, 1}, 0, 1, float32), bfloat16);
  const Tensor kernel = Tensor::full({1, 1, 1, 1}, 1.5, bfloat16), wide = cast(x, float32);
  GradientTape tape;
  tape.watch(x);
  tape.watch(kernel);
  const Tensor y = conv(x, kernel);
  const std::vector<Gradient> gradients = tape.gradient(sum(cast(y, float32)), Tensors{x, kernel});
  EXPECT_LE(max(abs(cast(y, float32) - wide * 1.5)).item<float>(), 1.5f / 256);
  EXPECT_EQ(min(gradients[0].dense()).item<float>(), 1.5f);
  EXPECT_EQ(max(gradients[0].dense()).item<float>(), 1.5f);
  const float expected = sum(wide).item<float>();
  EXPECT_NEAR(cast(gradients[1].dense(), float32).item<float>(), expected, expected / 200);
}

}  // namespace
}  // namespace cohort::test
