#include "cohort/layers/regularization/dropout.h"

#include <vector>

#include "cohort/core/random.h"
#include "cohort/layers/layer_checks.h"
#include "cohort/ops/creation.h"
#include "cohort/ops/math.h"
#include "cohort/ops/random_ops.h"
#include "cohort/ops/slicing.h"

namespace cohort::layers {
namespace {

// A tensor of ones with the shape the mask is drawn in.
Tensor noise_like(const Layer& layer, const Tensor& input, const Shape& noise_shape) {
  if (noise_shape.rank() != input.rank()) {
    throw invalid_argument(title(layer), "noise_shape must have as many axes as the input",
                           {{"noise_shape", noise_shape}, {"input.shape", input.shape()}});
  }
  std::vector<std::int64_t> begin(static_cast<std::size_t>(input.rank()), 0), size;
  for (int i = 0; i < input.rank(); ++i) size.push_back(noise_shape[i] == 1 ? 1 : -1);
  return ops::ones_like(ops::slice(input, begin, size));
}

}  // namespace

DropoutLayer::DropoutLayer(double rate, DropoutOptions options) : rate_(rate), options_(std::move(options)) {
  supports_masking_ = true;
  take_options(options_);
  DropoutLayer::fields_changed();
}

void DropoutLayer::visit_fields(FieldVisitor& visitor) {
  Layer::visit_fields(visitor);
  visitor.field("rate", rate_);
  visitor.field("seed", options_.seed);
  visitor.field("noise_shape", options_.noise_shape);
}

void DropoutLayer::fields_changed() {
  if (!(rate_ >= 0.0 && rate_ <= 1.0)) {
    throw invalid_argument(class_name(), "rate must lie in [0, 1]", {{"rate", rate_}});
  }
  seed_ = options_.seed ? static_cast<std::uint64_t>(*options_.seed) : next_op_seed();
}

// Calls differ from one another: a layer used twice drops different elements, and so does each call of eager code. A
// traced call keeps its seed; what varies from step to step is the run's state.
std::int64_t DropoutLayer::next_seed() {
  return static_cast<std::int64_t>(hash_combine(seed_, calls_.fetch_add(1)) >> 1);
}

Tensor DropoutLayer::call(const Tensor& input, const CallContext& context) {
  if (!context.training || rate_ == 0.0) return input;
  if (!options_.noise_shape) return ops::dropout(input, rate_, next_seed());
  return input * ops::dropout(noise_like(*this, input, *options_.noise_shape), rate_, next_seed());
}

namespace {

[[maybe_unused]] const bool registered =
    Layer::registry().add("Dropout", [] { return std::make_shared<DropoutLayer>(); });

}  // namespace
}  // namespace cohort::layers
