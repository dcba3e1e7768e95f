#include "cohort/ops/conv.h"

#include "cohort/core/dispatch.h"
#include "cohort/core/op.h"
#include "cohort/ops/conv_window.h"

namespace cohort::ops {
namespace {

using Sizes = std::vector<std::int64_t>;

void check_attributes(const OpCall& call) {
  const std::string padding = call.attr<std::string>("padding");
  call.check(padding == "valid" || padding == "same", "padding must be 'valid' or 'same'", {{"padding", padding}});
  for (const char* name : {"strides", "dilations"}) {
    const Sizes values = call.attr<Sizes>(name);
    call.check(values.size() == 2 && values[0] > 0 && values[1] > 0, "two positive numbers are expected",
               {{"attribute", name}, {"values", values.size()}});
  }
}

Specs infer_conv(const OpCall& call) {
  check_attributes(call);
  const Shape &x = call.shape(0), &kernel = call.shape(1);
  call.check(x.rank() == 4, "input must have 4 axes (batch, height, width, channels)", {{"input.shape", x}});
  call.check(kernel.rank() == 4, "kernel must have 4 axes (height, width, channels, filters)",
             {{"kernel.shape", kernel}});
  call.check(x[3] == kernel[2] || x[3] == kUnknown || kernel[2] == kUnknown,
             "the kernel must have the input's channels", {{"input.shape", x}, {"kernel.shape", kernel}});
  call.check(call.dtype(0) == call.dtype(1) && is_floating(call.dtype(0)),
             "input and kernel must have one floating type",
             {{"input.dtype", call.dtype(0)}, {"kernel.dtype", call.dtype(1)}});
  Shape y = {x[0]};
  for (int i = 0; i < 2; ++i) {
    const auto at = static_cast<std::size_t>(i);
    std::int64_t size = kUnknown;
    if (x[1 + i] != kUnknown && kernel[i] != kUnknown) {
      size = conv_window(x[1 + i], kernel[i], call.attr<Sizes>("strides")[at], call.attr<Sizes>("dilations")[at],
                         call.attr<std::string>("padding") == "same")
                 .outputs;
      call.check(size > 0 || x[1 + i] == 0, "the kernel must fit into the input",
                 {{"input.shape", x}, {"kernel.shape", kernel}, {"padding", call.attr<std::string>("padding")}});
    }
    y.push_back(size);
  }
  y.push_back(kernel[3]);
  return {{call.dtype(0), y}};
}

// All three are linear in both of their operands, and the gradients of each are the other two.
Tensor forward(const Tensor& x, const Tensor& kernel, const Attributes& attributes) {
  return run_op("Conv2D", {x, kernel}, attributes);
}
Tensor gradient_of_input(const Tensor& dy, const Tensor& kernel, const Tensor& like, const Attributes& attributes) {
  return run_op("Conv2DGradInput", {dy, kernel, like}, attributes);
}
Tensor gradient_of_kernel(const Tensor& x, const Tensor& dy, const Tensor& like, const Attributes& attributes) {
  return run_op("Conv2DGradKernel", {x, dy, like}, attributes);
}

OpDef& with_conv_attributes(OpDef& op) {
  return op.attr("strides", Sizes{1, 1}).attr("dilations", Sizes{1, 1}).attr("padding", "valid");
}

[[maybe_unused]] OpDef& conv = with_conv_attributes(register_op("Conv2D"))
                                   .inputs(2)
                                   .infer(infer_conv)
                                   .gradient([](const OpCall& call, const Tensor& dy) -> Tensors {
                                     const Tensor &x = call.input(0), &kernel = call.input(1);
                                     return {gradient_of_input(dy, kernel, x, call.attributes()),
                                             gradient_of_kernel(x, dy, kernel, call.attributes())};
                                   });

[[maybe_unused]] OpDef& conv_grad_input =
    with_conv_attributes(register_op("Conv2DGradInput"))  // (dy, kernel, like)
        .inputs(3)
        .infer([](const OpCall& call) { return same_as(call.spec(2)); })
        .gradient([](const OpCall& call, const Tensor& dx) -> Tensors {
          const Tensor &dy = call.input(0), &kernel = call.input(1);
          return {forward(dx, kernel, call.attributes()), gradient_of_kernel(dx, dy, kernel, call.attributes()), {}};
        });

[[maybe_unused]] OpDef& conv_grad_kernel =
    with_conv_attributes(register_op("Conv2DGradKernel"))  // (x, dy, like)
        .inputs(3)
        .infer([](const OpCall& call) { return same_as(call.spec(2)); })
        .gradient([](const OpCall& call, const Tensor& dkernel) -> Tensors {
          const Tensor &x = call.input(0), &dy = call.input(1);
          return {gradient_of_input(dy, dkernel, x, call.attributes()), forward(x, dkernel, call.attributes()), {}};
        });

}  // namespace

Tensor conv2d(const Tensor& inputs, const Tensor& kernel, const ConvOptions& options) {
  return forward(inputs, kernel,
                 {{"strides", options.strides}, {"dilations", options.dilation_rate}, {"padding", options.padding}});
}

}  // namespace cohort::ops
