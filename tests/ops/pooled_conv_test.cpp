#include <algorithm>

#include "cohort/core/dispatch.h"
#include "cohort/ops/cast.h"
#include "cohort/ops/conv.h"
#include "cohort/ops/math.h"
#include "cohort/ops/pooling.h"
#include "tests/support/op_check.h"

namespace cohort::test {
namespace {

using namespace ops;

const std::vector<DType> kPooledConvTypes = {float32};
constexpr std::uint8_t kNothingFlows = 4;

struct PooledConvSizes {
  Shape x, kernel;
  const char* padding;
};
// Tiles of a GPU in one piece and in several, lines and columns that no window has, filters that fill no thread or
// warp, windows of more elements than a thread has sums for, more images than blocks, and none.
const PooledConvSizes kPooledConvs[] = {
    {{2, 28, 28, 1}, {3, 3, 1, 32}, "valid"}, {{3, 9, 10, 2}, {3, 2, 2, 5}, "same"},
    {{1, 4, 5, 4}, {2, 4, 4, 33}, "valid"},   {{2, 13, 7, 3}, {3, 3, 3, 40}, "same"},
    {{300, 6, 6, 1}, {3, 3, 1, 8}, "valid"},  {{1, 70, 150, 1}, {5, 5, 1, 4}, "same"},
    {{2, 2, 2, 1}, {1, 1, 1, 1}, "valid"},    {{1, 64, 3, 1}, {32, 1, 1, 70}, "same"},
    {{0, 6, 6, 1}, {3, 3, 1, 8}, "valid"},
};

Attributes pooled_conv_attributes(const PooledConvSizes& sizes) {
  return {{"strides", std::vector<std::int64_t>{1, 1}},
          {"dilations", std::vector<std::int64_t>{1, 1}},
          {"padding", sizes.padding}};
}
Tensors operands_of(const PooledConvSizes& sizes) {
  return {spread_tensor(sizes.x, -1, 1, float32), spread_tensor(sizes.kernel, -1, 1, float32, 2),
          spread_tensor({sizes.kernel.back()}, -1, 1, float32, 3)};
}
std::string pooled_conv_words(const PooledConvSizes& sizes) {
  return sizes.x.to_string() + sizes.kernel.to_string() + sizes.padding;
}

// The image before it is pooled, in float64.
std::vector<double> unpooled_values(const Tensors& in, const PooledConvSizes& sizes, Shape& shape) {
  const Tensor y =
      relu(conv(cast(in[0], float64), cast(in[1], float64), {.padding = sizes.padding}) + cast(in[2], float64));
  shape = y.shape();
  return y.to_vector<double>();
}

// Where pixel number p of the window of pooled element i lies in the image.
std::size_t pixel_of(std::size_t i, int p, const Shape& pooled, const Shape& image) {
  const auto at = static_cast<std::int64_t>(i);
  const std::int64_t filter = at % pooled[3], column = at / pooled[3] % pooled[2], line = at / pooled[3] / pooled[2];
  const std::int64_t y = line % pooled[1] * 2 + p / 2, x = column * 2 + p % 2;
  return static_cast<std::size_t>(((line / pooled[1] * image[1] + y) * image[2] + x) * image[3] + filter);
}

COHORT_OP_REFERENCE(ConvReluMaxPool, values_and_pixels, kPooledConvTypes) {
  for (const PooledConvSizes& sizes : kPooledConvs) {
    SCOPED_TRACE(pooled_conv_words(sizes));
    const Tensors in = operands_of(sizes), out = run_op_all("ConvReluMaxPool", in, pooled_conv_attributes(sizes));
    Shape shape;
    const std::vector<double> image = unpooled_values(in, sizes, shape);
    const Shape pooled = {shape[0], shape[1] / 2, shape[2] / 2, shape[3]};
    ASSERT_EQ(out[0].spec(), (TensorSpec{dtype, pooled}));
    ASSERT_EQ(out[1].spec(), (TensorSpec{uint8, pooled}));
    const auto chosen = out[1].to_vector<std::uint8_t>();
    const auto values = out[0].to_vector<float>();
    std::vector<double> wanted(chosen.size());
    int wrong = 0;
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      for (int p = 0; p < 4; ++p) wanted[i] = std::max(wanted[i], image[pixel_of(i, p, pooled, shape)]);
      // The chosen pixel is as large, but for how the sums are rounded; none is where nothing is positive.
      const bool none = chosen[i] == kNothingFlows;
      if (none != !(values[i] > 0)) ++wrong;
      if (!none && (chosen[i] > 3 || image[pixel_of(i, chosen[i], pooled, shape)] < wanted[i] - 1e-5)) ++wrong;
    }
    EXPECT_EQ(wrong, 0) << "of " << chosen.size() << " pixels";
    expect_values(out[0], wanted, 8 * tolerance(dtype));
  }
}

TEST(ConvReluMaxPool, takes_the_first_of_equal_pixels) {
  const Tensors out =
      run_op_all("ConvReluMaxPool", {Tensor::full({1, 5, 4, 1}, 1.0, float32), Tensor::full({1, 1, 1, 2}, 2.0, float32),
                                     Tensor::of<float>({1, -2}, {2})});
  expect_values(out[0], {3, 0, 3, 0, 3, 0, 3, 0}, 0);
  EXPECT_EQ(out[1].to_vector<std::uint8_t>(), (std::vector<std::uint8_t>{0, 4, 0, 4, 0, 4, 0, 4}));
}

COHORT_OP_REFERENCE(ConvReluMaxPoolGrad, kernel_and_bias, kPooledConvTypes) {
  for (const PooledConvSizes& sizes : kPooledConvs) {
    SCOPED_TRACE(pooled_conv_words(sizes));
    const Tensors in = operands_of(sizes);
    Shape shape;
    unpooled_values(in, sizes, shape);
    const Shape pooled = {shape[0], shape[1] / 2, shape[2] / 2, shape[3]};
    const Tensor dy = spread_tensor(pooled, -1, 1, dtype, 4);
    const Tensor chosen = cast(spread_tensor(pooled, 0, 4.99, float64, 5), uint8);
    const Attributes attributes = pooled_conv_attributes(sizes);
    const Tensors seen = run_op_all("ConvReluMaxPoolGrad", {in[0], dy, chosen, in[1]}, attributes);
    std::vector<double> flows(static_cast<std::size_t>(shape.num_elements()));
    const auto pixels = chosen.to_vector<std::uint8_t>();
    const auto values = dy.to_vector<float>();
    for (std::size_t i = 0; i < pixels.size(); ++i) {
      if (pixels[i] < kNothingFlows) flows[pixel_of(i, pixels[i], pooled, shape)] = values[i];
    }
    const Tensors wanted =
        run_op_all("ConvBiasGrad", {cast(in[0], float64), Tensor::of(flows, shape), cast(in[1], float64)}, attributes);
    for (std::size_t i = 0; i < 2; ++i) {
      ASSERT_EQ(seen[i].spec(), (TensorSpec{dtype, wanted[i].shape()}));
      expect_values(seen[i], wanted[i].to_vector<double>(), 64 * tolerance(dtype));
    }
  }
}

TEST(ConvReluMaxPool, refuses_what_does_not_fit) {
  const auto refused = [](const char* op, const Tensors& inputs, const std::string& why, Attributes attributes = {}) {
    expect_error([&] { run_op_all(op, inputs, attributes); }, {std::string(op) + ":", why});
  };
  const auto of = [](const Shape& shape) { return spread_tensor(shape, -1, 1, float32); };
  const char* forth = "ConvReluMaxPool";
  refused(forth, {of({1, 6, 6, 5}), of({1, 1, 5, 2}), of({2})}, "1 to 4 channels");
  refused(forth, {of({1, 9, 9, 1}), of({6, 6, 1, 2}), of({2})}, "1 to 32 elements");
  refused(forth, {of({1, 6, 6}), of({3, 1, 2}), of({2})}, "two axes");
  refused(forth, {of({1, 6, 6, 1}), of({3, 3, 2, 2}), of({2})}, "same channels");
  refused(forth, {of({1, 6, 6, 1}), of({3, 3, 1, 2}), of({3})}, "bias");
  refused(forth, {of({1, 3, 6, 1}), of({3, 3, 1, 2}), of({2})}, "2 x 2 pixels");
  refused(forth, {of({1, 6, 6, 1}), of({3, 3, 1, 2}), of({2})}, "must be 1",
          {{"strides", std::vector<std::int64_t>{2, 1}}});
  refused(forth, {cast(of({1, 6, 6, 1}), bfloat16), cast(of({3, 3, 1, 2}), bfloat16), of({2})}, "float32");
  const Tensor chosen = cast(of({1, 2, 2, 2}), uint8);
  const char* back = "ConvReluMaxPoolGrad";
  refused(back, {of({1, 6, 6, 1}), of({1, 2, 1, 2}), chosen, of({3, 3, 1, 2})}, "dy and the chosen pixels");
  refused(back, {of({1, 6, 6, 1}), of({1, 2, 2, 2}), cast(chosen, int32), of({3, 3, 1, 2})},
          "dy and the chosen pixels");
}

}  // namespace
}  // namespace cohort::test
