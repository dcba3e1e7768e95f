#include "cohort/ops/conv.h"

#include "cohort/core/dispatch.h"
#include "cohort/core/op.h"
#include "cohort/ops/array.h"
#include "cohort/ops/channels.h"
#include "cohort/ops/conv_window.h"

namespace cohort::ops {
namespace {

using Sizes = std::vector<std::int64_t>;

bool may_be(std::int64_t a, std::int64_t b) { return a == b || a == kUnknown || b == kUnknown; }

void check_attributes(const OpCall& call, int spatial) {
  const auto padding = call.attr<std::string>("padding");
  call.check(padding == "valid" || padding == "same" || (padding == "causal" && spatial == 1),
             "padding must be 'valid' or 'same', or with one spatial axis 'causal'", {{"padding", padding}});
  for (const char* name : {"strides", "dilations"}) {
    const Sizes values = call.attr<Sizes>(name);
    bool positive = static_cast<int>(values.size()) == spatial;
    for (std::int64_t value : values) positive = positive && value > 0;
    call.check(positive, "a positive number is expected for each spatial axis",
               {{"attribute", name}, {"numbers", values.size()}, {"spatial axes", spatial}});
  }
  call.check(call.attr<std::int64_t>("groups") > 0, "groups must be positive",
             {{"groups", call.attr<std::int64_t>("groups")}});
}

void check_conv_operands(const OpCall& call, const Shape& x, const Shape& kernel) {
  call.check(x.rank() >= 3 && x.rank() <= 5, "input must have 3 to 5 axes (batch, spatial axes, channels)",
             {{"input.shape", x}});
  call.check(kernel.rank() == x.rank(), "kernel must have as many axes as the input (spatial axes, channels, filters)",
             {{"input.shape", x}, {"kernel.shape", kernel}});
  call.check(call.dtype(0) == call.dtype(1) && is_floating(call.dtype(0)),
             "input and kernel must have one floating type",
             {{"input.dtype", call.dtype(0)}, {"kernel.dtype", call.dtype(1)}});
  check_attributes(call, x.rank() - 2);
}

// What a convolution of x (batch, spatial axes, channels) with the kernel gives.
Shape conv_shape(const OpCall& call, const Shape& x, const Shape& kernel) {
  check_conv_operands(call, x, kernel);
  const auto groups = call.attr<std::int64_t>("groups");
  const std::int64_t channels = kernel.dim(-2), filters = kernel.dim(-1);
  call.check(channels == kUnknown || may_be(x.back(), channels * groups), "the kernel must have the input's channels",
             {{"input.shape", x}, {"kernel.shape", kernel}, {"groups", groups}});
  call.check(filters == kUnknown || filters % groups == 0, "filters must be divisible by groups",
             {{"kernel.shape", kernel}, {"groups", groups}});
  const Sizes strides = call.attr<Sizes>("strides"), dilations = call.attr<Sizes>("dilations");
  const auto padding = call.attr<std::string>("padding");
  Shape y = {x[0]};
  for (int i = 0; i < x.rank() - 2; ++i) {
    const auto at = static_cast<std::size_t>(i);
    std::int64_t size = kUnknown;
    if (x[1 + i] != kUnknown && kernel[i] != kUnknown) {
      size = padded_window(x[1 + i], kernel[i], strides[at], dilations[at], padding).outputs;
      call.check(size > 0 || x[1 + i] == 0, "the kernel must fit into the input",
                 {{"input.shape", x}, {"kernel.shape", kernel}, {"padding", padding}});
    }
    y.push_back(size);
  }
  y.push_back(filters);
  return y;
}

// The image whose convolution has the shape of x: Keras's rule for the sizes that several images have in common.
Shape transposed_shape(const OpCall& call, const Shape& x, const Shape& kernel) {
  check_conv_operands(call, x, kernel);
  call.check(may_be(x.back(), kernel.back()), "the kernel's last axis must be the input's channels",
             {{"input.shape", x}, {"kernel.shape", kernel}});
  const Sizes strides = call.attr<Sizes>("strides"), dilations = call.attr<Sizes>("dilations"),
              output_padding = call.attr<Sizes>("output_padding");
  call.check(output_padding.empty() || output_padding.size() == strides.size(),
             "output_padding must be left out or have a number for each spatial axis",
             {{"numbers", output_padding.size()}, {"spatial axes", strides.size()}});
  const bool same = call.attr<std::string>("padding") == "same";
  Shape y = {x[0]};
  for (int i = 0; i < x.rank() - 2; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const std::int64_t stride = strides[at];
    std::int64_t size = kUnknown;
    if (x[1 + i] != kUnknown && kernel[i] != kUnknown) {
      const std::int64_t reach = (kernel[i] - 1) * dilations[at] + 1, first = (x[1 + i] - 1) * stride;
      if (output_padding.empty()) {
        size = same ? x[1 + i] * stride : first + std::max(reach, stride);
      } else {
        size = first + (same ? reach % 2 : reach) + output_padding[at];
      }
    }
    y.push_back(size);
  }
  y.push_back(kernel.dim(-2));
  call.check(conv_shape(call, y, kernel).compatible(x),
             "the output must be one whose convolution has the input's shape",
             {{"input.shape", x}, {"output.shape", y}, {"kernel.shape", kernel}});
  return y;
}

// All are linear in both of their operands, and the gradients of each are the others.
Tensor forward(const Tensor& x, const Tensor& kernel, const Attributes& attributes) {
  return run_op("Conv", {x, kernel}, attributes);
}
Tensor gradient_of_input(const Tensor& dy, const Tensor& kernel, const Tensor& like, const Attributes& attributes) {
  return run_op("ConvGradInput", {dy, kernel, like}, attributes);
}
Tensor gradient_of_kernel(const Tensor& x, const Tensor& dy, const Tensor& like, const Attributes& attributes) {
  return run_op("ConvGradKernel", {x, dy, like}, attributes);
}

// (x, dy, like)
Specs infer_kernel_gradient(const OpCall& call) {
  call.check(conv_shape(call, call.shape(0), call.shape(2)).compatible(call.shape(1)),
             "dy must have the shape of the convolution",
             {{"x.shape", call.shape(0)}, {"dy.shape", call.shape(1)}, {"like.shape", call.shape(2)}});
  return same_as(call.spec(2));
}

OpDef& with_conv_attributes(OpDef& op) {
  return op.attr("strides", Sizes{1}).attr("dilations", Sizes{1}).attr("padding", "valid").attr("groups", 1);
}

[[maybe_unused]] OpDef& conv_op = with_conv_attributes(register_op("Conv"))
                                      .inputs(2)
                                      .infer([](const OpCall& call) -> Specs {
                                        return {{call.dtype(0), conv_shape(call, call.shape(0), call.shape(1))}};
                                      })
                                      .gradient([](const OpCall& call, const Tensor& dy) -> Tensors {
                                        const Tensor &x = call.input(0), &kernel = call.input(1);
                                        return {gradient_of_input(dy, kernel, x, call.attributes()),
                                                gradient_of_kernel(x, dy, kernel, call.attributes())};
                                      });

[[maybe_unused]] OpDef& conv_grad_input =
    with_conv_attributes(register_op("ConvGradInput"))  // (dy, kernel, like)
        .inputs(3)
        .infer([](const OpCall& call) {
          call.check(conv_shape(call, call.shape(2), call.shape(1)).compatible(call.shape(0)),
                     "dy must have the shape of the convolution",
                     {{"dy.shape", call.shape(0)}, {"kernel.shape", call.shape(1)}, {"like.shape", call.shape(2)}});
          return same_as(call.spec(2));
        })
        .gradient([](const OpCall& call, const Tensor& dx) -> Tensors {
          const Tensor &dy = call.input(0), &kernel = call.input(1);
          return {forward(dx, kernel, call.attributes()), gradient_of_kernel(dx, dy, kernel, call.attributes()), {}};
        });

[[maybe_unused]] OpDef& conv_grad_kernel =
    with_conv_attributes(register_op("ConvGradKernel"))
        .inputs(3)
        .infer(infer_kernel_gradient)
        .gradient([](const OpCall& call, const Tensor& dkernel) -> Tensors {
          const Tensor &x = call.input(0), &dy = call.input(1);
          return {gradient_of_input(dy, dkernel, x, call.attributes()), forward(x, dkernel, call.attributes()), {}};
        });

// An input gradient that finds the size of the image by itself.
[[maybe_unused]] OpDef& conv_transpose_op =
    with_conv_attributes(register_op("ConvTranspose"))
        .attr("output_padding", Sizes{})
        .inputs(2)
        .infer([](const OpCall& call) -> Specs {
          return {{call.dtype(0), transposed_shape(call, call.shape(0), call.shape(1))}};
        })
        .gradient([](const OpCall& call, const Tensor& dy) -> Tensors {
          Attributes attributes = call.attributes();
          attributes.erase("output_padding");
          const Tensor &x = call.input(0), &kernel = call.input(1);
          return {forward(dy, kernel, attributes), gradient_of_kernel(dy, x, kernel, attributes)};
        });

// A Conv that adds a bias to each filter and applies an activation while the block is in the cache. Only passes make
// it.
[[maybe_unused]] OpDef& fused_conv =
    with_conv_attributes(register_op("FusedConv"))
        .attr("activation", "")
        .inputs(3)
        .infer([](const OpCall& call) -> Specs {
          const Shape y = conv_shape(call, call.shape(0), call.shape(1));
          call.check(call.rank(2) == 1 && call.dtype(2) == call.dtype(0) && may_be(call.shape(2)[0], y.back()),
                     "the bias must be a vector with one element for each filter",
                     {{"bias", call.spec(2)}, {"filters", y.back()}});
          return {{call.dtype(0), y}};
        })
        .not_differentiable();

// A ConvGradKernel and beside it the sums of dy over all but its last axis: the gradients of a kernel and of the bias
// that goes with it. Only passes make it.
[[maybe_unused]] OpDef& conv_bias_grad = with_conv_attributes(register_op("ConvBiasGrad"))
                                             .inputs(3)
                                             .infer([](const OpCall& call) {
                                               Specs made = infer_kernel_gradient(call);
                                               made.push_back({call.dtype(1), {call.shape(1).back()}});
                                               return made;
                                             })
                                             .not_differentiable();

Attributes attributes_of(const ConvOptions& options, int axes, std::int64_t groups) {
  return {{"strides", for_each_axis(options.strides, axes)},
          {"dilations", for_each_axis(options.dilation_rate, axes)},
          {"padding", options.padding},
          {"groups", groups}};
}

Tensor depthwise(const Tensor& image, const Tensor& kernel, const ConvOptions& options) {
  const int rank = kernel.rank();
  if (rank < 3 || image.rank() != rank || !may_be(image.shape().back(), kernel.shape().dim(-2))) {
    throw invalid_argument("depthwise_conv", "the kernel must have the axes (spatial axes, channels, multiplier)",
                           {{"input.shape", image.shape()}, {"kernel.shape", kernel.shape()}});
  }
  // A group for each channel: its filters follow each other as the kernel's last two axes do.
  const Tensor grouped = expand_dims(merge_axes(kernel, rank - 2, 2), rank - 2);
  return forward(image, grouped, attributes_of(options, rank - 2, kernel.shape().dim(-2)));
}

}  // namespace

Tensor conv(const Tensor& inputs, const Tensor& kernel, const ConvOptions& options) {
  return with_channels_last("conv", inputs, options.data_format, [&](const Tensor& image) {
    std::int64_t groups = 1;
    if (image.rank() > 2 && kernel.rank() == image.rank()) {
      const std::int64_t channels = image.shape().back(), of_kernel = kernel.shape().dim(-2);
      if (channels > 0 && of_kernel > 0 && channels % of_kernel == 0) groups = channels / of_kernel;
    }
    return forward(image, kernel, attributes_of(options, image.rank() - 2, groups));
  });
}

Tensor depthwise_conv(const Tensor& inputs, const Tensor& kernel, const ConvOptions& options) {
  return with_channels_last("depthwise_conv", inputs, options.data_format,
                            [&](const Tensor& image) { return depthwise(image, kernel, options); });
}

Tensor separable_conv(const Tensor& inputs, const Tensor& depthwise_kernel, const Tensor& pointwise_kernel,
                      const ConvOptions& options) {
  return with_channels_last("separable_conv", inputs, options.data_format, [&](const Tensor& image) {
    return conv(depthwise(image, depthwise_kernel, options), pointwise_kernel);
  });
}

Tensor conv_transpose(const Tensor& inputs, const Tensor& kernel, const ConvTransposeOptions& options) {
  return with_channels_last("conv_transpose", inputs, options.data_format, [&](const Tensor& image) {
    const int axes = image.rank() - 2;
    const Sizes output_padding = options.output_padding ? for_each_axis(*options.output_padding, axes) : Sizes{};
    return run_op("ConvTranspose", {image, kernel},
                  {{"strides", for_each_axis(options.strides, axes)},
                   {"dilations", for_each_axis(options.dilation_rate, axes)},
                   {"padding", options.padding},
                   {"output_padding", output_padding}});
  });
}

}  // namespace cohort::ops
