#include "cohort/layers/normalization/spectral_normalization.h"

#include <algorithm>
#include <optional>

#include "cohort/graph/trace.h"
#include "cohort/model/layer/layer_call_scope.h"
#include "cohort/ops/array.h"
#include "cohort/ops/math.h"
#include "cohort/ops/matmul.h"
#include "cohort/ops/reduce.h"
#include "cohort/variables/initializers/random.h"

namespace cohort::layers {
namespace {

Tensor to_unit_length(const Tensor& x) {
  constexpr double kEpsilon = 1e-7;
  return x * ops::minimum(ops::rsqrt(ops::sum(ops::square(x))), 1.0 / kEpsilon);
}

bool has_weight(const Layer& layer, const std::string& name) {
  const auto& own = layer.own_weights();
  return std::any_of(own.begin(), own.end(), [&](const auto& weight) { return weight.first == name; });
}

}  // namespace

SpectralNormalizationLayer::SpectralNormalizationLayer(Ref<Layer> layer, std::int64_t power_iterations,
                                                       NameOption options)
    : layer_(std::move(layer)), power_iterations_(power_iterations) {
  take_options(options);
  SpectralNormalizationLayer::fields_changed();
}

void SpectralNormalizationLayer::visit_fields(FieldVisitor& visitor) {
  Layer::visit_fields(visitor);
  visitor.field("layer", layer_);
  visitor.field("power_iterations", power_iterations_);
}

void SpectralNormalizationLayer::fields_changed() {
  if (!layer_) throw invalid_argument(class_name(), "a layer must be given", {{"layer", "none"}});
  if (power_iterations_ <= 0) {
    throw invalid_argument(class_name(), "power_iterations must be positive",
                           {{"power_iterations", power_iterations_}});
  }
  if (!sublayers().empty()) untrack_last_layer();
  track_layer("layer", layer_);
}

void SpectralNormalizationLayer::build(const Shape& input) {
  {
    std::optional<NameScope> own;
    if (NameScope::current().empty()) own.emplace(name());
    NameScope scope(layer_->name());
    layer_->ensure_built({input});
  }
  if (!has_weight(*layer_, "kernel") && !has_weight(*layer_, "embeddings")) {
    throw invalid_argument(title(), "the layer inside must have a kernel or embeddings", {{"layer", layer_->title()}});
  }
  kernel_ = LayerCallScope::share_weight(*this, *layer_, has_weight(*layer_, "kernel") ? "kernel" : "embeddings");
  vector_u_ = add_weight(
      "vector_u", {1, kernel_.shape().back()},
      {.initializer = initializers::TruncatedNormal({.stddev = 0.02}), .dtype = kernel_.dtype(), .trainable = false});
}

// A kernel of zeros has no direction and stays as it is.
void SpectralNormalizationLayer::normalize_kernel() {
  const Tensor kernel = kernel_.value(), weights = ops::reshape(kernel, {-1, kernel.shape().back()});
  const Tensor old_u = vector_u_.value();
  Tensor u = old_u, v;
  for (std::int64_t i = 0; i < power_iterations_; ++i) {
    v = to_unit_length(ops::matmul(u, weights, false, true));
    u = to_unit_length(ops::matmul(v, weights));
  }
  const Tensor sigma = ops::reshape(ops::matmul(ops::matmul(v, weights), u, false, true), {});
  const Tensor empty = ops::logical_not(ops::any(ops::not_equal(kernel, 0.0)));
  vector_u_.assign(ops::where(empty, old_u, u));
  kernel_.assign(ops::where(empty, kernel, kernel / sigma));
}

Tensor SpectralNormalizationLayer::call(const Tensor& input, const CallContext& context) {
  if (context.training) normalize_kernel();
  const Tensor output = layer_->apply(input, {.training = context.training, .mask = context.mask}).leaf();
  return is_floating(input.dtype()) ? ops::cast(output, input.dtype()) : output;
}

COHORT_REGISTER(Layer, SpectralNormalizationLayer, "SpectralNormalization");

SpectralNormalization::SpectralNormalization(Ref<Layer> layer, std::int64_t power_iterations, NameOption options)
    : LayerHandle<SpectralNormalizationLayer>(
          std::make_shared<SpectralNormalizationLayer>(std::move(layer), power_iterations, std::move(options))) {}

}  // namespace cohort::layers
