#include <string>
#include <string_view>
#include <vector>

#include "cohort/core/op.h"
#include "cohort/ops/conv_window.h"

namespace cohort::ops {
namespace {

using Sizes = std::vector<std::int64_t>;

// Checks what both ops expect of a convolution, whose kernel is input number `kernel`: windows of so few elements that
// they are multiplied one by one. What it gives after windows of 2 x 2 pixels are pooled.
Shape pooled_conv_shape(const OpCall& call, int kernel) {
  constexpr std::int64_t kMostChannels = 4, kMostElements = 32, kMostFilters = 1 << 16;
  constexpr std::int64_t kLongest = 1 << 20, kLargestImage = 1 << 28;
  const Shape &x = call.shape(0), &k = call.shape(kernel);
  const auto expect = [&](bool condition, std::string_view expected) {
    call.check(condition, expected, {{"x.shape", x}, {"kernel.shape", k}});
  };
  expect(x.rank() == 4 && k.rank() == 4 && x.fully_known() && k.fully_known() && x.back() == k[2],
         "images and a kernel over two axes, with the same channels, are expected");
  call.check(call.dtype(0) == DType::Float32 && call.dtype(kernel) == DType::Float32, "all numbers must be float32",
             {{"x.dtype", call.dtype(0)}, {"kernel.dtype", call.dtype(kernel)}});
  expect(call.attr<Sizes>("strides") == Sizes{1, 1} && call.attr<Sizes>("dilations") == Sizes{1, 1} &&
             call.attr<std::int64_t>("groups") == 1,
         "strides, dilations and groups must be 1");
  const std::int64_t elements = k[0] * k[1] * k[2];
  expect(elements > 0 && elements <= kMostElements && k[2] <= kMostChannels && k[3] <= kMostFilters,
         "1 to 4 channels, 1 to 32 elements of a window and at most 65536 filters are expected");
  const auto padding = call.attr<std::string>("padding");
  const std::int64_t height = padded_window(x[1], k[0], 1, 1, padding).outputs;
  const std::int64_t width = padded_window(x[2], k[1], 1, 1, padding).outputs;
  call.check((padding == "valid" || padding == "same") && height > 1 && width > 1,
             "a window of 2 x 2 pixels must fit into what the convolution gives, by padding 'valid' or 'same'",
             {{"padding", padding}, {"x.shape", x}, {"kernel.shape", k}});
  expect(x[1] <= kLongest && x[2] <= kLongest && x[1] * x[2] * x[3] <= kLargestImage &&
             height * width * k[3] <= kLargestImage,
         "an image must have at most 2^20 lines and columns and 2^28 elements, before and after the convolution");
  return {x[0], height / 2, width / 2, k[3]};
}

OpDef& pooled_conv_op(const char* name) {
  return register_op(name)
      .attr("strides", Sizes{1, 1})
      .attr("dilations", Sizes{1, 1})
      .attr("padding", "valid")
      .attr("groups", 1)
      .not_differentiable();
}

// (x, kernel, bias) -> the largest of each window of 2 x 2 pixels of relu(conv(x, kernel) + bias), and which of its
// pixels, counted line by line, what flows back goes to: the first of equal ones, or 4, none, where the relu holds it
// back. What comes out of the convolution is not kept. Only passes make it.
[[maybe_unused]] OpDef& conv_relu_max_pool =
    pooled_conv_op("ConvReluMaxPool").inputs(3).infer([](const OpCall& call) -> Specs {
      const Shape y = pooled_conv_shape(call, 1);
      call.check(call.spec(2) == TensorSpec{DType::Float32, {y.back()}},
                 "the bias must be a float32 vector with one element for each filter",
                 {{"bias", call.spec(2)}, {"filters", y.back()}});
      return {{DType::Float32, y}, {DType::UInt8, y}};
    });

// (x, dy, chosen, like) -> the gradients of kernel and bias. Only passes make it.
[[maybe_unused]] OpDef& conv_relu_max_pool_grad =
    pooled_conv_op("ConvReluMaxPoolGrad").inputs(4).infer([](const OpCall& call) -> Specs {
      const Shape y = pooled_conv_shape(call, 3);
      call.check(call.spec(1) == TensorSpec{DType::Float32, y} && call.spec(2) == TensorSpec{DType::UInt8, y},
                 "dy and the chosen pixels must have the shape of what was pooled, as float32 and uint8",
                 {{"dy", call.spec(1)}, {"chosen", call.spec(2)}, {"pooled.shape", y}});
      return {call.spec(3), {DType::Float32, {y.back()}}};
    });

}  // namespace
}  // namespace cohort::ops
