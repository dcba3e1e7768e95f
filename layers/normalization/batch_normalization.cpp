#include "cohort/layers/normalization/batch_normalization.h"

#include "cohort/layers/layer_checks.h"
#include "cohort/ops/array.h"
#include "cohort/ops/creation.h"
#include "cohort/ops/math.h"
#include "cohort/ops/normalization.h"
#include "cohort/ops/reduce.h"

namespace cohort::layers {
namespace {

// What Keras adds to a count that may be zero.
constexpr double kSmall = 1e-7;

std::vector<std::int64_t> all_axes_but(int axis, int rank) {
  std::vector<std::int64_t> axes;
  for (int i = 0; i < rank; ++i) {
    if (i != axis) axes.push_back(i);
  }
  return axes;
}

}  // namespace

BatchNormalizationLayer::BatchNormalizationLayer(BatchNormalizationOptions options) : options_(std::move(options)) {
  supports_masking_ = true;
  take_options(options_);
}

void BatchNormalizationLayer::visit_fields(FieldVisitor& visitor) {
  Layer::visit_fields(visitor);
  visitor.field("axis", options_.axis);
  visitor.field("momentum", options_.momentum);
  visitor.field("epsilon", options_.epsilon);
  visitor.field("center", options_.center);
  visitor.field("scale", options_.scale);
  visitor.field("beta_initializer", options_.beta_initializer);
  visitor.field("gamma_initializer", options_.gamma_initializer);
  visitor.field("moving_mean_initializer", options_.moving_mean_initializer);
  visitor.field("moving_variance_initializer", options_.moving_variance_initializer);
  visitor.field("beta_regularizer", options_.beta_regularizer);
  visitor.field("gamma_regularizer", options_.gamma_regularizer);
  visitor.field("beta_constraint", options_.beta_constraint);
  visitor.field("gamma_constraint", options_.gamma_constraint);
  visitor.field("synchronized", options_.synchronized);
  visitor.field("renorm", renorm_);
  visitor.field("renorm_clipping", renorm_clipping_);
  visitor.field("renorm_momentum", renorm_momentum_);
}

void BatchNormalizationLayer::fields_changed() {
  if (renorm_) {
    throw unimplemented(class_name(), "batch renormalization is not supported", {{"renorm", true}},
                        "Set renorm to false.");
  }
}

void BatchNormalizationLayer::build(const Shape& input) {
  if (input.rank() < 2) {
    throw invalid_argument(title(*this), "input must have at least 2 axes (batch, ..., channels)",
                           {{"input.shape", input}});
  }
  const Shape channels = {input[normalize_axis(options_.axis, input.rank(), title(*this).c_str())]};
  if (options_.scale) {
    gamma_ = add_weight("gamma", channels,
                        {.initializer = options_.gamma_initializer,
                         .dtype = dtype(),
                         .regularizer = options_.gamma_regularizer,
                         .constraint = options_.gamma_constraint,
                         .autocast = false});
  }
  if (options_.center) {
    beta_ = add_weight("beta", channels,
                       {.initializer = options_.beta_initializer,
                        .dtype = dtype(),
                        .regularizer = options_.beta_regularizer,
                        .constraint = options_.beta_constraint,
                        .autocast = false});
  }
  moving_mean_ = add_weight(
      "moving_mean", channels,
      {.initializer = options_.moving_mean_initializer, .dtype = dtype(), .trainable = false, .autocast = false});
  moving_variance_ = add_weight(
      "moving_variance", channels,
      {.initializer = options_.moving_variance_initializer, .dtype = dtype(), .trainable = false, .autocast = false});
}

// Updates by differences add up where several workers send theirs to one variable.
void BatchNormalizationLayer::follow(const Tensor& mean, const Tensor& variance) {
  const double step = 1.0 - options_.momentum;
  const auto update = [step](Variable& moving, const Tensor& seen) {
    const Tensor value = moving.value();
    moving.assign_sub((value - ops::cast(ops::stop_gradient(seen), value.dtype())) * step);
  };
  update(moving_mean_, mean);
  update(moving_variance_, variance);
}

Tensor BatchNormalizationLayer::normalize(const Tensor& x, const Tensor& mean, const Tensor& variance) const {
  const int axis = normalize_axis(options_.axis, x.rank(), "axis");
  const auto along = [&](const Tensor& vector) {
    std::vector<std::int64_t> shape(static_cast<std::size_t>(x.rank()), 1);
    shape[static_cast<std::size_t>(axis)] = -1;
    return axis == x.rank() - 1 ? vector : ops::reshape(vector, shape);
  };
  Tensor factor = ops::rsqrt(variance + options_.epsilon);
  if (options_.scale) factor = factor * ops::cast(gamma_, x.dtype());
  Tensor shift = -(mean * factor);
  if (options_.center) shift = shift + ops::cast(beta_, x.dtype());
  return x * along(factor) + along(shift);
}

Tensor BatchNormalizationLayer::call(const Tensor& input, const CallContext& context) {
  const DType result = compute_dtype();
  // Sums of squares overflow 16 bits.
  const Tensor x = ops::cast(input, promote(input.dtype(), DType::Float32));
  const Shape channels = moving_mean_.shape();
  const int axis = normalize_axis(options_.axis, x.rank(), title(*this).c_str());
  if (x.shape()[axis] != channels[0] && x.shape()[axis] != kUnknown) {
    throw invalid_argument(title(*this),
                           "axis " + std::to_string(axis) + " of the input must have size " +
                               std::to_string(channels[0]) + ", as when the layer was built",
                           {{"input.shape", x.shape()}});
  }
  const Tensor mask = context.mask.is_leaf() ? context.mask.leaf() : Tensor();
  if (mask.defined() && mask.rank() != x.rank() - 1) {
    throw invalid_argument(title(*this), "the mask must have all axes of the input but the last",
                           {{"mask.shape", mask.shape()}, {"input.shape", x.shape()}});
  }
  if (!context.training || !trainable()) {
    return ops::cast(normalize(x, ops::cast(moving_mean_, x.dtype()), ops::cast(moving_variance_, x.dtype())), result);
  }
  if (!mask.defined()) {
    const Tensor gamma = options_.scale ? ops::cast(gamma_, x.dtype()) : ops::ones(channels, x.dtype());
    const Tensor beta = options_.center ? ops::cast(beta_, x.dtype()) : ops::zeros(channels, x.dtype());
    const ops::BatchNormResult batch = ops::batch_norm(x, gamma, beta, axis, options_.epsilon);
    follow(batch.mean, batch.variance);
    return ops::cast(batch.output, result);
  }
  const ops::Axes axes(all_axes_but(axis, x.rank()));
  const Tensor counts = ops::broadcast_like(ops::expand_dims(ops::cast(mask, DType::Bool), -1), x);
  const Tensor weight = ops::sum(ops::cast(counts, x.dtype()), axes, ops::keep_dims) + kSmall;
  const Tensor mean = ops::sum(ops::where(counts, x, 0.0), axes, ops::keep_dims) / weight;
  const Tensor squares = ops::square(ops::where(counts, x - mean, 0.0));
  const Tensor mean_vector = ops::reshape(mean, {-1});
  const Tensor variance = ops::sum(squares, axes) / ops::reshape(weight, {-1});
  follow(mean_vector, variance);
  return ops::cast(normalize(x, mean_vector, variance), result);
}

namespace {

[[maybe_unused]] const bool registered =
    Layer::registry().add("BatchNormalization", [] { return std::make_shared<BatchNormalizationLayer>(); });

}  // namespace
}  // namespace cohort::layers
