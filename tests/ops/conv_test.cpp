#include "cohort/ops/conv.h"

#include "cohort/core/dispatch.h"
#include "cohort/ops/conv_window.h"
#include "tests/support/op_check.h"

namespace cohort::test {
namespace {

using namespace ops;

Tensor spread(const Shape& shape, unsigned seed = 1) { return spread_tensor(shape, -1, 1, float64, seed); }

// A convolution computed from its definition.
std::vector<double> plain_conv(const Tensor& x, const Tensor& kernel, const ConvOptions& options) {
  const Shape &xs = x.shape(), &ks = kernel.shape();
  const bool same = options.padding == "same";
  const ConvWindow rows = conv_window(xs[1], ks[0], options.strides[0], options.dilation_rate[0], same);
  const ConvWindow cols = conv_window(xs[2], ks[1], options.strides[1], options.dilation_rate[1], same);
  const std::vector<double> xv = x.to_vector<double>(), kv = kernel.to_vector<double>();
  std::vector<double> y;
  for (std::int64_t n = 0; n < xs[0]; ++n)
    for (std::int64_t r = 0; r < rows.outputs; ++r)
      for (std::int64_t c = 0; c < cols.outputs; ++c)
        for (std::int64_t f = 0; f < ks[3]; ++f) {
          double sum = 0;
          for (std::int64_t ky = 0; ky < ks[0]; ++ky)
            for (std::int64_t kx = 0; kx < ks[1]; ++kx) {
              const std::int64_t iy = rows.input_at(r, ky), ix = cols.input_at(c, kx);
              if (iy < 0 || ix < 0) continue;
              for (std::int64_t i = 0; i < ks[2]; ++i) {
                sum += xv[static_cast<std::size_t>(((n * xs[1] + iy) * xs[2] + ix) * xs[3] + i)] *
                       kv[static_cast<std::size_t>(((ky * ks[1] + kx) * ks[2] + i) * ks[3] + f)];
              }
            }
          y.push_back(sum);
        }
  return y;
}

TEST(ConvWindow, sizes_and_padding_as_keras) {
  EXPECT_EQ(conv_window(28, 3, 1, 1, false).outputs, 26);
  EXPECT_EQ(conv_window(28, 3, 2, 1, false).outputs, 13);
  EXPECT_EQ(conv_window(28, 3, 1, 2, false).outputs, 24);
  EXPECT_EQ(conv_window(28, 3, 1, 1, true).outputs, 28);
  EXPECT_EQ(conv_window(28, 3, 2, 1, true).outputs, 14);
  EXPECT_EQ(conv_window(28, 3, 2, 1, true).before, 0);  // one row of padding goes to the end
  EXPECT_EQ(conv_window(2, 3, 1, 1, false).outputs, 0);
}

COHORT_OP_REFERENCE(Conv2D, strides_padding_dilation, kFloats) {
  const Tensor x = spread_tensor({2, 6, 7, 3}, -1, 1, dtype);
  const Tensor kernel = spread_tensor({3, 2, 3, 4}, -1, 1, dtype, 2);
  for (const ConvOptions& options :
       {ConvOptions{}, ConvOptions{.strides = {2, 1}, .padding = "same"}, ConvOptions{.dilation_rate = {2, 3}},
        ConvOptions{.strides = {2, 3}, .padding = "same", .dilation_rate = {1, 1}}}) {
    const Tensor y = conv2d(x, kernel, options);
    EXPECT_EQ(y.dtype(), dtype);
    expect_values(y, plain_conv(x, kernel, options), 4 * tolerance(dtype));
  }
}
COHORT_OP_GRADIENT(Conv2D, same_and_valid) {
  check_gradient(
      [](const Tensors& x) {
        return conv2d(x[0], x[1], {.strides = {2, 1}, .padding = "same"});
      },
      {spread({2, 3, 3, 2}), spread({2, 2, 2, 2}, 2)});
  check_gradient(
      [](const Tensors& x) {
        return conv2d(x[0], x[1], {.dilation_rate = {1, 2}});
      },
      {spread({2, 3, 4, 1}), spread({2, 2, 1, 2}, 2)});
}
TEST(Conv2D, says_what_is_wrong) {
  expect_error(
      [] {
        conv2d(spread({32, 784}), spread({3, 3, 1, 4}));
      },
      {"Conv2D:", "4 axes (batch, height, width, channels)", "input.shape=(32, 784)"});
  expect_error([] { conv2d(spread({1, 5, 5, 2}), spread({3, 3, 1, 4})); }, {"Conv2D:", "input's channels"});
  expect_error([] { conv2d(spread({1, 2, 2, 1}), spread({3, 3, 1, 4})); }, {"Conv2D:", "must fit"});
  expect_error([] { conv2d(spread({1, 5, 5, 1}), spread({3, 3, 1, 4}), {.padding = "full"}); }, {"padding=full"});
}

// sum(conv(x, k) * dy) is linear in x and in k: the gradients follow from it.
double weighted(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}
COHORT_OP_REFERENCE(Conv2DGradInput, transposes_the_convolution, kFloats) {
  const Tensor x = spread_tensor({2, 4, 5, 2}, -1, 1, dtype), kernel = spread_tensor({3, 3, 2, 2}, -1, 1, dtype, 2);
  const Tensor dy = spread_tensor({2, 2, 3, 2}, -1, 1, dtype, 3);
  const Tensor dx = run_op("Conv2DGradInput", {dy, kernel, x});
  EXPECT_EQ(dx.shape(), x.shape());
  EXPECT_NEAR(weighted(dx.to_vector<double>(), x.to_vector<double>()),
              weighted(plain_conv(x, kernel, {}), dy.to_vector<double>()), 20 * tolerance(dtype));
}
COHORT_OP_GRADIENT(Conv2DGradInput, both_inputs) {
  check_gradient([](const Tensors& x) { return run_op("Conv2DGradInput", x); },
                 {spread({2, 2, 2, 1}), spread({2, 2, 2, 1}, 2), spread({2, 3, 3, 2}, 3)});
}
COHORT_OP_REFERENCE(Conv2DGradKernel, sums_over_the_batch, kFloats) {
  const Tensor x = spread_tensor({2, 4, 5, 2}, -1, 1, dtype), kernel = spread_tensor({3, 3, 2, 2}, -1, 1, dtype, 2);
  const Tensor dy = spread_tensor({2, 2, 3, 2}, -1, 1, dtype, 3);
  const Tensor dkernel = run_op("Conv2DGradKernel", {x, dy, kernel});
  EXPECT_EQ(dkernel.shape(), kernel.shape());
  EXPECT_NEAR(weighted(dkernel.to_vector<double>(), kernel.to_vector<double>()),
              weighted(plain_conv(x, kernel, {}), dy.to_vector<double>()), 20 * tolerance(dtype));
}
COHORT_OP_GRADIENT(Conv2DGradKernel, both_inputs) {
  check_gradient([](const Tensors& x) { return run_op("Conv2DGradKernel", x); },
                 {spread({2, 3, 3, 2}), spread({2, 2, 2, 1}, 2), spread({2, 2, 2, 1}, 3)});
}

}  // namespace
}  // namespace cohort::test
