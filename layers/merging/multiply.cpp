#include "cohort/layers/merging/multiply.h"

#include "cohort/ops/math.h"

namespace cohort::layers {

Tensor MultiplyLayer::merge(const Tensors& inputs, const Tensors& masks) const {
  Tensor product, any;
  bool all_masked = true;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& mask = masks[i];
    all_masked = all_masked && mask.defined();
    const Tensor input = mask.defined() ? ops::where(mask, inputs[i], 1.0) : inputs[i];
    if (mask.defined()) any = any.defined() ? ops::logical_or(any, mask) : mask;
    product = product.defined() ? product * input : input;
  }
  return all_masked ? ops::where(any, product, 0.0) : product;
}

COHORT_REGISTER(Layer, MultiplyLayer, "Multiply");

Multiply::Multiply(NameOption options)
    : LayerHandle<MultiplyLayer>(std::make_shared<MultiplyLayer>(std::move(options))) {}

}  // namespace cohort::layers
