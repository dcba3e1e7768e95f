#include "cohort/layers/core/masking.h"

#include "cohort/ops/array.h"
#include "cohort/ops/math.h"
#include "cohort/ops/reduce.h"

namespace cohort::layers {

MaskingLayer::MaskingLayer(MaskingOptions options) : options_(std::move(options)) {
  supports_masking_ = true;
  take_options(options_);
}

void MaskingLayer::visit_fields(FieldVisitor& visitor) {
  Layer::visit_fields(visitor);
  visit_options(options_, visitor);
}

Tensor MaskingLayer::call(const Tensor& input, const CallContext&) {
  if (input.rank() < 2) {
    throw invalid_argument(title(), "input must have at least 2 axes (batch, ..., features)",
                           {{"input.shape", input.shape()}});
  }
  return ops::where(ops::expand_dims(compute_mask(input, {}).leaf(), -1), input, 0.0);
}

Element MaskingLayer::compute_mask(const Element& inputs, const Element&) {
  return ops::any(ops::not_equal(inputs.leaf(), options_.mask_value), -1);
}

COHORT_REGISTER(Layer, MaskingLayer, "Masking");

Masking::Masking(MaskingOptions options)
    : LayerHandle<MaskingLayer>(std::make_shared<MaskingLayer>(std::move(options))) {}

}  // namespace cohort::layers
