#include "cohort/layers/preprocessing/random_zoom.h"

#include "cohort/layers/layer_checks.h"
#include "cohort/ops/creation.h"
#include "cohort/ops/math.h"

namespace cohort::layers {

RandomZoomLayer::RandomZoomLayer(Factor height_factor, RandomZoomOptions options)
    : RandomAffineLayer({.fill_mode = options.fill_mode,
                         .interpolation = options.interpolation,
                         .seed = options.seed,
                         .fill_value = options.fill_value,
                         .data_format = options.data_format,
                         .dtype = options.dtype,
                         .name = options.name}),
      height_factor_(std::move(height_factor)),
      width_factor_(std::move(options.width_factor)) {
  RandomZoomLayer::fields_changed();
}

void RandomZoomLayer::visit_fields(FieldVisitor& visitor) {
  RandomAffineLayer::visit_fields(visitor);
  visitor.field("height_factor", height_factor_);
  visitor.field("width_factor", width_factor_);
}

void RandomZoomLayer::fields_changed() {
  RandomAffineLayer::fields_changed();
  const auto check = [this](const Factor& factor, const char* name) {
    if (factor.ends(*this, name, -1.0).low > -1.0) return;
    throw invalid_argument(class_name(), std::string(name) + " must be above -1, where nothing would be left",
                           {{name, -1}});
  };
  check(height_factor_, "height_factor");
  if (width_factor_) check(*width_factor_, "width_factor");
}

RandomAffineLayer::Maps RandomZoomLayer::draw_maps(const Tensor& images, double height, double width) {
  const auto zoom = [&](const Factor& factor) {
    const Factor::Ends ends = factor.ends(*this, "factor", -1.0);
    return draw(images, 1.0 + ends.low, 1.0 + ends.high);
  };
  const Tensor y = zoom(height_factor_), x = width_factor_ ? zoom(*width_factor_) : y, zero = ops::zeros_like(y);
  return {x, zero, (width - 1.0) / 2.0 * (1.0 - x), zero, y, (height - 1.0) / 2.0 * (1.0 - y)};
}

COHORT_REGISTER(Layer, RandomZoomLayer, "RandomZoom");

RandomZoom::RandomZoom(Factor height_factor, RandomZoomOptions options)
    : LayerHandle<RandomZoomLayer>(std::make_shared<RandomZoomLayer>(std::move(height_factor), std::move(options))) {}

}  // namespace cohort::layers
