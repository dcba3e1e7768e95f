#include "cohort/layers/reshaping/reshape.h"

#include "cohort/ops/array.h"

namespace cohort::layers {

ReshapeLayer::ReshapeLayer(std::vector<std::int64_t> target_shape, NameOption options)
    : target_shape_(std::move(target_shape)) {
  take_options(options);
}

void ReshapeLayer::visit_fields(FieldVisitor& visitor) {
  Layer::visit_fields(visitor);
  visitor.field("target_shape", target_shape_);
}

Tensor ReshapeLayer::call(const Tensor& input, const CallContext&) {
  std::int64_t known = 1, unknown = 0;
  for (std::int64_t size : target_shape_) {
    if (size == -1)
      ++unknown;
    else
      known *= size;
  }
  const std::int64_t size = input.shape().slice(1).num_elements();
  const bool fits = unknown == 0 ? known == size : unknown == 1 && known > 0 && size % known == 0;
  if (size != kUnknown && !fits) {
    throw invalid_argument(title(), "a sample must have as many elements before and after",
                           {{"input.shape", input.shape()}, {"target_shape", Shape(target_shape_)}});
  }
  std::vector<std::int64_t> shape = {-2};
  for (std::int64_t axis : target_shape_) shape.push_back(axis != -1 || size == kUnknown ? axis : size / known);
  return ops::reshape(input, shape);
}

COHORT_REGISTER(Layer, ReshapeLayer, "Reshape");

Reshape::Reshape(std::vector<std::int64_t> target_shape, NameOption options)
    : LayerHandle<ReshapeLayer>(std::make_shared<ReshapeLayer>(std::move(target_shape), std::move(options))) {}

}  // namespace cohort::layers
