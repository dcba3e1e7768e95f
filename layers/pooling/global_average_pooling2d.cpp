#include "cohort/layers/pooling/global_average_pooling2d.h"

#include "cohort/layers/layer_checks.h"
#include "cohort/ops/reduce.h"

namespace cohort::layers {

GlobalAveragePooling2DLayer::GlobalAveragePooling2DLayer(GlobalAveragePooling2DOptions options)
    : options_(std::move(options)) {
  if (!options_.name.empty()) set_name(options_.name);
  GlobalAveragePooling2DLayer::fields_changed();
}

void GlobalAveragePooling2DLayer::visit_fields(FieldVisitor& visitor) {
  Layer::visit_fields(visitor);
  visitor.field("data_format", options_.data_format);
  visitor.field("keepdims", options_.keepdims);
}

void GlobalAveragePooling2DLayer::fields_changed() { check_data_format(*this, options_.data_format); }

Tensor GlobalAveragePooling2DLayer::call(const Tensor& input, const CallContext&) {
  check_rank(*this, input.shape(), 4, "(batch, height, width, channels)");
  if (options_.data_format == "channels_first") return ops::mean(input, {2, 3}, options_.keepdims);
  return ops::mean(input, {1, 2}, options_.keepdims);
}

namespace {

[[maybe_unused]] const bool registered =
    Layer::registry().add("GlobalAveragePooling2D", [] { return std::make_shared<GlobalAveragePooling2DLayer>(); });

}  // namespace
}  // namespace cohort::layers
