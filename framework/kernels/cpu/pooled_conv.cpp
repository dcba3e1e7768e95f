#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cohort/core/kernel.h"
#include "cohort/core/scratch.h"

namespace cohort {
namespace {

constexpr std::int64_t kPoolSide = 2;
constexpr std::uint8_t kNoPixel = kPoolSide * kPoolSide;

// What comes out of the convolution, or flows back to it.
Scratch unpooled_memory;

// The kernel of another op, with the attributes that both have.
KernelFn make_unpooled(const char* op, const KernelSpec& spec, const Attributes& attributes, const Specs& inputs,
                       const Specs& outputs) {
  const OpCall call(find_op(op), attributes, inputs);
  return make_kernel(KernelSpec(call, outputs, spec.device(), spec.node()));
}
Attributes conv_attributes_of(const KernelSpec& spec) {
  using Sizes = std::vector<std::int64_t>;
  return {{"strides", spec.attr<Sizes>("strides")},
          {"dilations", spec.attr<Sizes>("dilations")},
          {"padding", spec.attr<std::string>("padding")},
          {"groups", spec.attr<std::int64_t>("groups")}};
}
// What the convolution of x with a kernel gives.
TensorSpec unpooled_spec(const KernelSpec& spec, const TensorSpec& kernel) {
  const Specs operands = {spec.input(0), kernel};
  return find_op("Conv").infer_outputs(operands, conv_attributes_of(spec))[0];
}

// By the kernels that there are for the convolution and the pooling.
KernelFn make_conv_relu_max_pool(const KernelSpec& spec) {
  Attributes attributes = conv_attributes_of(spec);
  attributes.set("activation", AttributeValue("Relu"));
  const TensorSpec image = unpooled_spec(spec, spec.input(1));
  const Attributes windows = {{"pool_size", std::vector<std::int64_t>(2, kPoolSide)},
                              {"strides", std::vector<std::int64_t>(2, kPoolSide)}};
  KernelFn conv = make_unpooled("FusedConv", spec, attributes, {spec.input(0), spec.input(1), spec.input(2)}, {image});
  KernelFn pool = make_unpooled("MaxPool", spec, windows, {image}, {spec.output(0), spec.output(1)});
  return [conv = std::move(conv), pool = std::move(pool), elements = image.shape.num_elements(),
          pooled = spec.output_size(0)](const KernelIO& io) {
    void* memory = unpooled_memory.get<float>(elements);
    conv({.inputs = io.inputs, .outputs = &memory});
    pool({.inputs = &memory, .outputs = io.outputs});
    for (std::int64_t i = 0; i < pooled; ++i) {
      if (!(io.out<float>(0)[i] > 0)) io.out<std::uint8_t>(1)[i] = kNoPixel;
    }
  };
}

// Puts what flows back to where it goes among the pixels of images.
void spread_flows(const Shape& pooled, const Shape& image, const float* dy, const std::uint8_t* chosen, float* to) {
  std::fill_n(to, image.num_elements(), 0.0f);
  const std::int64_t filters = image[3];
  for (std::int64_t i = 0; i < pooled.num_elements(); ++i) {
    if (chosen[i] >= kNoPixel) continue;
    const std::int64_t filter = i % filters, column = i / filters % pooled[2], line = i / filters / pooled[2];
    const std::int64_t y = line % pooled[1] * kPoolSide + chosen[i] / kPoolSide;
    const std::int64_t x = column * kPoolSide + chosen[i] % kPoolSide;
    to[((line / pooled[1] * image[1] + y) * image[2] + x) * filters + filter] = dy[i];
  }
}

KernelFn make_conv_relu_max_pool_grad(const KernelSpec& spec) {
  const TensorSpec image = unpooled_spec(spec, spec.output(0));
  KernelFn gradients = make_unpooled("ConvBiasGrad", spec, conv_attributes_of(spec),
                                     {spec.input(0), image, spec.input(3)}, {spec.output(0), spec.output(1)});
  return [gradients = std::move(gradients), pooled = spec.input(1).shape, image = image.shape](const KernelIO& io) {
    auto* flows = unpooled_memory.get<float>(image.num_elements());
    spread_flows(pooled, image, io.in<float>(1), io.in<std::uint8_t>(2), flows);
    void* inputs[] = {io.inputs[0], flows, io.inputs[3]};
    gradients({.inputs = inputs, .outputs = io.outputs});
  };
}

COHORT_KERNEL("ConvReluMaxPool", kCPU, make_conv_relu_max_pool);
COHORT_KERNEL("ConvReluMaxPoolGrad", kCPU, make_conv_relu_max_pool_grad);

}  // namespace
}  // namespace cohort
