#include "cohort/layers/merging/concatenate.h"

#include <algorithm>

#include "cohort/ops/array.h"
#include "cohort/ops/broadcast.h"
#include "cohort/ops/cast.h"
#include "cohort/ops/creation.h"
#include "cohort/ops/joining.h"
#include "cohort/ops/reduce.h"

namespace cohort::layers {

ConcatenateLayer::ConcatenateLayer(ConcatenateOptions options) : options_(std::move(options)) {
  supports_masking_ = true;
  take_options(options_);
}

void ConcatenateLayer::visit_fields(FieldVisitor& visitor) {
  Layer::visit_fields(visitor);
  visit_options(options_, visitor);
}

Tensor ConcatenateLayer::call_many(const Tensors& inputs, const CallContext&) {
  if (inputs.empty()) throw invalid_argument(title(), "at least one input is expected", {{"inputs", 0}});
  const Shape& first = inputs[0].shape();
  const int axis = normalize_axis(options_.axis, first.rank(), "Concatenate");
  for (const Tensor& input : inputs) {
    bool fits = input.rank() == first.rank();
    for (int i = 0; fits && i < first.rank(); ++i) {
      fits = i == axis || first[i] == input.shape()[i] || first[i] == kUnknown || input.shape()[i] == kUnknown;
    }
    if (!fits) {
      throw invalid_argument(title(), "inputs must agree in all axes but the one they are joined along",
                             {{"axis", options_.axis}, {"inputs[0].shape", first}, {"input.shape", input.shape()}});
    }
  }
  return ops::concatenate(inputs, axis);
}

Element ConcatenateLayer::compute_mask(const Element& inputs, const Element& mask) {
  const Tensors tensors = inputs.flatten();
  Tensors masks = mask.flatten();
  const auto defined = [](const Tensor& each) { return each.defined(); };
  if (std::none_of(masks.begin(), masks.end(), defined)) return {};
  // Each with all of its input's axes, so that they can be joined along any of them.
  for (std::size_t i = 0; i < masks.size(); ++i) {
    if (!masks[i].defined()) masks[i] = ops::cast(ops::ones_like(tensors[i]), DType::Bool);
    while (masks[i].rank() < tensors[i].rank()) masks[i] = ops::expand_dims(masks[i], -1);
    masks[i] = ops::broadcast_like(masks[i], tensors[i]);
  }
  return ops::any(ops::concatenate(masks, options_.axis), -1);
}

COHORT_REGISTER(Layer, ConcatenateLayer, "Concatenate");

Concatenate::Concatenate(ConcatenateOptions options)
    : LayerHandle<ConcatenateLayer>(std::make_shared<ConcatenateLayer>(std::move(options))) {}

}  // namespace cohort::layers
