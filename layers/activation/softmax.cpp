#include "cohort/layers/activation/softmax.h"

#include "cohort/model/layer/layer_activation.h"
#include "cohort/ops/math.h"
#include "cohort/ops/nn.h"
#include "cohort/ops/reduce.h"

namespace cohort::layers {

SoftmaxLayer::SoftmaxLayer(SoftmaxOptions options) : options_(std::move(options)) {
  supports_masking_ = true;
  take_options(options_);
}

void SoftmaxLayer::visit_fields(FieldVisitor& visitor) {
  Layer::visit_fields(visitor);
  visit_options(options_, visitor);
}

Tensor SoftmaxLayer::call(const Tensor& input, const CallContext& context) {
  Tensor mask = context.mask.leaf(), logits = input;
  if (mask.defined()) {
    broadcast_shapes(input.shape(), mask.shape(), "Softmax");
    if (mask.dtype() != DType::Bool) mask = mask > 0.5;
    logits = ops::where(mask, input, input.dtype() == DType::Float16 ? -3e4 : -1e9);
  }
  Tensor output = options_.axis.size() == 1 ? ops::softmax(logits, static_cast<int>(options_.axis[0]))
                                            : ops::exp(logits - ops::logsumexp(logits, options_.axis, ops::keep_dims));
  return mask.defined() ? ops::where(mask, output, 0.0) : output;
}

COHORT_REGISTER(Layer, SoftmaxLayer, "Softmax");
[[maybe_unused]] static const bool softmax_as_activation = register_layer_as_activation("Softmax");

Softmax::Softmax(SoftmaxOptions options)
    : LayerHandle<SoftmaxLayer>(std::make_shared<SoftmaxLayer>(std::move(options))) {}

}  // namespace cohort::layers
