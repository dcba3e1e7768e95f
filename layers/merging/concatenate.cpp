#include "cohort/layers/merging/concatenate.h"

#include "cohort/layers/layer_checks.h"
#include "cohort/ops/joining.h"

namespace cohort::layers {

ConcatenateLayer::ConcatenateLayer(ConcatenateOptions options) : options_(std::move(options)) {
  supports_masking_ = true;
  if (!options_.name.empty()) set_name(options_.name);
}

void ConcatenateLayer::visit_fields(FieldVisitor& visitor) {
  Layer::visit_fields(visitor);
  visitor.field("axis", options_.axis);
}

Tensor ConcatenateLayer::call_many(const Tensors& inputs, const CallContext&) {
  if (inputs.empty()) throw invalid_argument(title(*this), "at least one input is expected", {{"inputs", 0}});
  const Shape& first = inputs[0].shape();
  const int axis = normalize_axis(options_.axis, first.rank(), "Concatenate");
  for (const Tensor& input : inputs) {
    bool fits = input.rank() == first.rank();
    for (int i = 0; fits && i < first.rank(); ++i) {
      fits = i == axis || first[i] == input.shape()[i] || first[i] == kUnknown || input.shape()[i] == kUnknown;
    }
    if (!fits) {
      throw invalid_argument(title(*this), "inputs must agree in all axes but the one they are joined along",
                             {{"axis", options_.axis}, {"inputs[0].shape", first}, {"input.shape", input.shape()}});
    }
  }
  return ops::concatenate(inputs, axis);
}

namespace {

[[maybe_unused]] const bool registered =
    Layer::registry().add("Concatenate", [] { return std::make_shared<ConcatenateLayer>(); });

}  // namespace
}  // namespace cohort::layers
