#include "cohort/layers/regularization/spatial_dropout.h"

#include "cohort/layers/spatial_axes.h"
#include "cohort/ops/math.h"
#include "cohort/ops/random_ops.h"

namespace cohort::layers {

SpatialDropoutLayer::SpatialDropoutLayer(int axes, double rate, SpatialDropoutOptions options)
    : SeededLayer(options.seed), axes_(axes), rate_(rate), data_format_(std::move(options.data_format)) {
  supports_masking_ = true;
  take_options(options);
}

// Keras writes these layers without `trainable`, and their type by its name.
void SpatialDropoutLayer::visit_fields(FieldVisitor& visitor) {
  visitor.field("rate", rate_);
  visit_seed(visitor);
  std::string layer_name = name();
  visitor.field("name", layer_name);
  if (visitor.reads_config()) set_name(layer_name);
  std::string type = to_string(dtype());
  visitor.field("dtype", type);
  if (visitor.reads_config()) set_dtype_policy(DTypePolicy(type));
  if (axes_ > 1) visitor.field("data_format", data_format_);
}

void SpatialDropoutLayer::fields_changed() {
  check_rate(*this, "rate", rate_);
  check_data_format(*this, data_format_);
  choose_seed();
}

Tensor SpatialDropoutLayer::call(const Tensor& input, const CallContext& context) {
  check_spatial_rank(*this, input.shape(), axes_, data_format_);
  if (!context.training || rate_ == 0.0) return input;
  Shape noise = input.shape();
  for (std::int64_t axis : spatial_positions(axes_, data_format_)) noise[static_cast<int>(axis)] = 1;
  return input * ops::dropout(noise_shape_of(*this, input, noise), rate_, next_seed());
}

COHORT_REGISTER(Layer, SpatialDropout1DLayer, "SpatialDropout1D");
COHORT_REGISTER(Layer, SpatialDropout2DLayer, "SpatialDropout2D");
COHORT_REGISTER(Layer, SpatialDropout3DLayer, "SpatialDropout3D");

SpatialDropout1D::SpatialDropout1D(double rate, SpatialDropout1DOptions options)
    : LayerHandle<SpatialDropout1DLayer>(std::make_shared<SpatialDropout1DLayer>(rate, std::move(options))) {}
SpatialDropout2D::SpatialDropout2D(double rate, SpatialDropoutOptions options)
    : LayerHandle<SpatialDropout2DLayer>(std::make_shared<SpatialDropout2DLayer>(rate, std::move(options))) {}
SpatialDropout3D::SpatialDropout3D(double rate, SpatialDropoutOptions options)
    : LayerHandle<SpatialDropout3DLayer>(std::make_shared<SpatialDropout3DLayer>(rate, std::move(options))) {}

}  // namespace cohort::layers
