#include "cohort/layers/reshaping/flatten.h"

#include "cohort/layers/layer_checks.h"
#include "cohort/ops/array.h"

namespace cohort::layers {

FlattenLayer::FlattenLayer(FlattenOptions options) : options_(std::move(options)) {
  take_options(options_);
  FlattenLayer::fields_changed();
}

void FlattenLayer::visit_fields(FieldVisitor& visitor) {
  Layer::visit_fields(visitor);
  visit_options(options_, visitor);
}

void FlattenLayer::fields_changed() { check_data_format(*this, options_.data_format); }

Tensor FlattenLayer::call(const Tensor& input, const CallContext&) {
  if (input.rank() < 2) return ops::expand_dims(input, -1);
  Tensor x = input;
  if (options_.data_format == "channels_first" && input.rank() > 2) x = ops::moveaxis(input, 1, -1);
  return ops::reshape(x, {-2, x.shape().slice(1).num_elements()});
}

COHORT_REGISTER(Layer, FlattenLayer, "Flatten");

Flatten::Flatten(FlattenOptions options)
    : LayerHandle<FlattenLayer>(std::make_shared<FlattenLayer>(std::move(options))) {}

}  // namespace cohort::layers
