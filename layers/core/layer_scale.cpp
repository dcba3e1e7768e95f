#include "cohort/layers/core/layer_scale.h"

#include "cohort/ops/math.h"
#include "cohort/variables/initializers.h"

namespace cohort::layers {

LayerScaleLayer::LayerScaleLayer(double init_values, std::int64_t projection_dim, NameOption options)
    : init_values_(init_values), projection_dim_(projection_dim) {
  take_options(options);
  LayerScaleLayer::fields_changed();
}

void LayerScaleLayer::visit_fields(FieldVisitor& visitor) {
  Layer::visit_fields(visitor);
  visitor.field("init_values", init_values_);
  visitor.field("projection_dim", projection_dim_);
}

void LayerScaleLayer::fields_changed() {
  if (projection_dim_ > 0) return;
  throw invalid_argument(class_name(), "projection_dim must be positive", {{"projection_dim", projection_dim_}});
}

void LayerScaleLayer::build(const Shape& input) {
  if (input.rank() == 0 || (input.back() != projection_dim_ && input.back() != kUnknown)) {
    throw invalid_argument(title(), "the input's last axis must have projection_dim channels",
                           {{"projection_dim", projection_dim_}, {"input.shape", input}});
  }
  gamma_ = add_weight("gamma", {projection_dim_}, {.initializer = initializers::Constant(init_values_)});
}

Tensor LayerScaleLayer::call(const Tensor& input, const CallContext&) { return input * gamma_; }

COHORT_REGISTER(Layer, LayerScaleLayer, "LayerScale");

LayerScale::LayerScale(double init_values, std::int64_t projection_dim, NameOption options)
    : LayerHandle<LayerScaleLayer>(std::make_shared<LayerScaleLayer>(init_values, projection_dim, std::move(options))) {
}

}  // namespace cohort::layers
