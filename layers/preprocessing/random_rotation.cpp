#include "cohort/layers/preprocessing/random_rotation.h"

#include <numbers>

#include "cohort/ops/math.h"

namespace cohort::layers {

RandomRotationLayer::RandomRotationLayer(Factor factor, RandomAffineOptions options)
    : RandomAffineLayer(std::move(options)), factor_(std::move(factor)) {
  RandomRotationLayer::fields_changed();
}

void RandomRotationLayer::visit_fields(FieldVisitor& visitor) {
  RandomAffineLayer::visit_fields(visitor);
  visitor.field("factor", factor_);
}

// Keras keeps both ends.
void RandomRotationLayer::fields_changed() {
  RandomAffineLayer::fields_changed();
  const Factor::Ends ends = factor_.ends(*this, "factor", -1.0);
  factor_ = {ends.low, ends.high};
}

RandomAffineLayer::Maps RandomRotationLayer::draw_maps(const Tensor& images, double height, double width) {
  constexpr double kTurn = 360.0, kRadians = std::numbers::pi / 180.0;
  const Tensor angle = draw(images, factor_.values[0] * kTurn, factor_.values[1] * kTurn) * kRadians;
  const Tensor cos = ops::cos(angle), sin = ops::sin(angle);
  const double x = 0.5 * (width - 1.0), y = 0.5 * (height - 1.0);
  return {cos, -sin, x - x * cos + y * sin, sin, cos, y - x * sin - y * cos};
}

COHORT_REGISTER(Layer, RandomRotationLayer, "RandomRotation");

}  // namespace cohort::layers
