#include "cohort/layers/normalization/batch_normalization.h"

#include <cmath>
#include <utility>
#include <vector>

#include "cohort/core/log.h"
#include "cohort/model/fit/strategy.h"
#include "cohort/ops/array.h"
#include "cohort/ops/creation.h"
#include "cohort/ops/math.h"
#include "cohort/ops/normalization.h"
#include "cohort/ops/reduce.h"
#include "cohort/variables/replica_context.h"

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

// A vector of an axis, to be broadcast along the others.
Tensor along_axis(const Tensor& vector, int axis, int rank) {
  std::vector<std::int64_t> shape(static_cast<std::size_t>(rank), 1);
  shape[static_cast<std::size_t>(axis)] = -1;
  return axis == rank - 1 ? vector : ops::reshape(vector, shape);
}

// 1, or 0 for a replica that has no sample in this step and sees another's; undefined where all see the same.
Tensor counts_here(bool synchronized) {
  const ReplicaContext* replica = get_replica_context();
  if (!replica || synchronized) return {};
  return ops::cast(ops::greater(replica->loss_share(), 0.0), DType::Float32);
}

// How far a moving statistic goes towards what was seen, where that counts.
Tensor difference(const Tensor& moving, const Tensor& seen, double momentum, const Tensor& counts) {
  const Tensor all = (moving - ops::cast(ops::stop_gradient(seen), moving.dtype())) * (1.0 - momentum);
  return counts.defined() ? all * ops::cast(counts, moving.dtype()) : all;
}

// Updates by differences add up where several workers send theirs to one variable.
void follow(Variable& moving, const Tensor& seen, double momentum, const Tensor& counts) {
  moving.assign_sub(difference(moving.value(), seen, momentum, counts));
}

}  // namespace

void BatchNormalizationLayer::warn_of_own_statistics() {
  if (std::exchange(warned_, true)) return;
  log::warn(title() +
            ": each replica normalizes by the statistics of its own part of the batch. With synchronized = true"
            " they are those of the whole one, as on one device.");
}

BatchNormalizationLayer::BatchNormalizationLayer(BatchNormalizationOptions options) : options_(std::move(options)) {
  supports_masking_ = true;
  take_options(options_);
  BatchNormalizationLayer::fields_changed();
}

void BatchNormalizationLayer::visit_fields(FieldVisitor& visitor) {
  Layer::visit_fields(visitor);
  visit_options(options_, visitor);
}

void BatchNormalizationLayer::fields_changed() {
  if (!options_.renorm) return;
  if (!options_.renorm_clipping) options_.renorm_clipping.emplace();
  const NumberDict& clipping = *options_.renorm_clipping;
  for (const auto& [key, value] : clipping) {
    if (key == "rmax" || key == "rmin" || (key == "dmax" && value >= 0)) continue;
    throw invalid_argument(
        class_name(), "renorm_clipping has the keys 'rmax', 'rmin' and 'dmax', which is not negative", {{key, value}});
  }
  if (clipping.contains("rmax") && clipping.contains("rmin") && clipping.at("rmax") < clipping.at("rmin")) {
    throw invalid_argument(class_name(), "rmax must not be below rmin",
                           {{"rmax", clipping.at("rmax")}, {"rmin", clipping.at("rmin")}});
  }
}

Variable BatchNormalizationLayer::add_statistic(const char* name, const Shape& channels,
                                                const Ref<Initializer>& initializer) {
  return add_weight(
      name, channels,
      {.initializer = initializer,
       .dtype = dtype(),
       .trainable = false,
       // Replicas in step follow their own batches; elsewhere there is one variable.
       .synchronization = current_strategy()->mirrors_variables() ? Synchronization::OnRead : Synchronization::Auto,
       .autocast = false});
}

void BatchNormalizationLayer::build(const Shape& input) {
  if (input.rank() < 2) {
    throw invalid_argument(title(), "input must have at least 2 axes (batch, ..., channels)", {{"input.shape", input}});
  }
  const Shape channels = {input[normalize_axis(options_.axis, input.rank(), title().c_str())]};
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
  moving_mean_ = add_statistic("moving_mean", channels, options_.moving_mean_initializer);
  moving_variance_ = add_statistic("moving_variance", channels, options_.moving_variance_initializer);
  if (!options_.renorm) return;
  // Deviations begin as the roots of variances.
  const auto root = [](const Variable& variable) { write_now(variable, ops::sqrt(read_now(variable))); };
  moving_stddev_ = add_statistic("moving_stddev", channels, options_.moving_variance_initializer);
  root(moving_stddev_);
  renorm_mean_ = add_statistic("renorm_mean", channels, options_.moving_mean_initializer);
  renorm_stddev_ = add_statistic("renorm_stddev", channels, options_.moving_variance_initializer);
  root(renorm_stddev_);
}

Tensor BatchNormalizationLayer::normalize(const Tensor& x, const Statistics& statistics) const {
  const int axis = normalize_axis(options_.axis, x.rank(), "axis");
  const auto along = [&](const Tensor& vector) { return along_axis(vector, axis, x.rank()); };
  Tensor factor = ops::rsqrt(statistics.variance + options_.epsilon);
  if (statistics.gamma.defined()) factor = factor * statistics.gamma;
  Tensor shift = -(statistics.mean * factor);
  if (statistics.beta.defined()) shift = shift + statistics.beta;
  return x * along(factor) + along(shift);
}

// Over the samples of all replicas: sums and counts, then the squares of what differs from the common mean.
BatchNormalizationLayer::Statistics BatchNormalizationLayer::synchronized_moments(const Tensor& x, const Tensor& mask,
                                                                                  const ReplicaContext& replica) const {
  const int axis = normalize_axis(options_.axis, x.rank(), "axis");
  const ops::Axes axes(all_axes_but(axis, x.rank()));
  // One that has no sample in this step takes part with another's, which does not count.
  const Tensor present = ops::cast(ops::greater(replica.loss_share(), 0.0), x.dtype());
  Tensor weights, count = ops::size_of(x, all_axes_but(axis, x.rank()), x.dtype());
  if (mask.defined()) {
    weights = ops::broadcast_like(ops::expand_dims(ops::cast(mask, x.dtype()), -1), x);
    count = ops::sum(weights, axes) + kSmall;
  }
  const auto total = [&](const Tensor& values) {
    return ops::sum(mask.defined() ? values * weights : values, axes) * present;
  };
  const Tensors sums = replica.all_reduce(ReduceOp::Sum, Tensors{total(x), count * present});
  const Tensor mean = sums[0] / sums[1];
  const Tensor squares = total(ops::square(x - along_axis(mean, axis, x.rank())));
  return {mean, replica.all_reduce(ReduceOp::Sum, squares) / sums[1], {}, {}};
}

BatchNormalizationLayer::Statistics BatchNormalizationLayer::moments(const Tensor& x, const Tensor& mask) const {
  const ReplicaContext* replica = get_replica_context();
  if (replica && options_.synchronized) return synchronized_moments(x, mask, *replica);
  const int axis = normalize_axis(options_.axis, x.rank(), "axis");
  const ops::Axes axes(all_axes_but(axis, x.rank()));
  if (!mask.defined()) return {ops::mean(x, axes), ops::variance(x, axes), {}, {}};
  const Tensor counts = ops::broadcast_like(ops::expand_dims(ops::cast(mask, DType::Bool), -1), x);
  const Tensor weight = ops::sum(ops::cast(counts, x.dtype()), axes, ops::keep_dims) + kSmall;
  const Tensor mean = ops::sum(ops::where(counts, x, 0.0), axes, ops::keep_dims) / weight;
  const Tensor squares = ops::square(ops::where(counts, x - mean, 0.0));
  return {ops::reshape(mean, {-1}), ops::sum(squares, axes) / ops::reshape(weight, {-1}), {}, {}};
}

// Corrects gamma and beta by how far the batch is from the statistics kept for this, and lets these follow it.
void BatchNormalizationLayer::renormalize(Statistics& batch) {
  const Tensor counts = counts_here(options_.synchronized);
  const DType type = batch.mean.dtype();
  const Tensor mean = ops::stop_gradient(batch.mean);
  const Tensor stddev = ops::sqrt(ops::stop_gradient(batch.variance) + options_.epsilon);
  const Tensor kept = ops::maximum(ops::cast(renorm_stddev_, type), std::sqrt(options_.epsilon));
  Tensor r = stddev / kept, d = (mean - ops::cast(renorm_mean_, type)) / kept;
  const NumberDict& clipping = *options_.renorm_clipping;
  if (clipping.contains("rmin")) r = ops::maximum(r, clipping.at("rmin"));
  if (clipping.contains("rmax")) r = ops::minimum(r, clipping.at("rmax"));
  if (clipping.contains("dmax")) d = ops::clip(d, -clipping.at("dmax"), clipping.at("dmax"));
  Tensor beta = batch.gamma.defined() ? d * batch.gamma : d;
  if (batch.beta.defined()) beta = beta + batch.beta;
  batch.gamma = batch.gamma.defined() ? r * batch.gamma : r;
  batch.beta = beta;

  follow(renorm_mean_, mean, options_.renorm_momentum, counts);
  follow(renorm_stddev_, stddev, options_.renorm_momentum, counts);
  follow(moving_mean_, mean, options_.momentum, counts);
  const Tensor moving = moving_stddev_.value();
  const Tensor moved = moving - difference(moving, stddev, options_.momentum, counts);
  moving_stddev_.assign(moved);
  moving_variance_.assign(ops::relu(moved * moved - options_.epsilon));
}

Tensor BatchNormalizationLayer::call(const Tensor& input, const CallContext& context) {
  const DType result = compute_dtype();
  // Sums of squares overflow 16 bits.
  const Tensor x = ops::cast(input, promote(input.dtype(), DType::Float32));
  const Shape channels = moving_mean_.shape();
  const int axis = normalize_axis(options_.axis, x.rank(), title().c_str());
  if (x.shape()[axis] != channels[0] && x.shape()[axis] != kUnknown) {
    throw invalid_argument(title(),
                           "axis " + std::to_string(axis) + " of the input must have size " +
                               std::to_string(channels[0]) + ", as when the layer was built",
                           {{"input.shape", x.shape()}});
  }
  const Tensor mask = context.mask.is_leaf() ? context.mask.leaf() : Tensor();
  if (mask.defined() && mask.rank() != x.rank() - 1) {
    throw invalid_argument(title(), "the mask must have all axes of the input but the last",
                           {{"mask.shape", mask.shape()}, {"input.shape", x.shape()}});
  }
  const Tensor gamma = options_.scale ? ops::cast(gamma_, x.dtype()) : Tensor();
  const Tensor beta = options_.center ? ops::cast(beta_, x.dtype()) : Tensor();
  if (!context.training || !trainable()) {
    const Tensor mean = ops::cast(moving_mean_, x.dtype()), variance = ops::cast(moving_variance_, x.dtype());
    return ops::cast(normalize(x, {mean, variance, gamma, beta}), result);
  }
  const ReplicaContext* replica = get_replica_context();
  const bool meets_replicas = replica && options_.synchronized;
  if (replica && !meets_replicas) warn_of_own_statistics();
  const Tensor counts = counts_here(options_.synchronized);
  if (!mask.defined() && !options_.renorm && !meets_replicas) {
    const ops::BatchNormResult batch =
        ops::batch_norm(x, gamma.defined() ? gamma : ops::ones(channels, x.dtype()),
                        beta.defined() ? beta : ops::zeros(channels, x.dtype()), axis, options_.epsilon);
    follow(moving_mean_, batch.mean, options_.momentum, counts);
    follow(moving_variance_, batch.variance, options_.momentum, counts);
    return ops::cast(batch.output, result);
  }
  Statistics batch = moments(x, mask);
  batch.gamma = gamma, batch.beta = beta;
  if (options_.renorm) {
    renormalize(batch);
  } else {
    follow(moving_mean_, batch.mean, options_.momentum, counts);
    follow(moving_variance_, batch.variance, options_.momentum, counts);
  }
  return ops::cast(normalize(x, batch), result);
}

COHORT_REGISTER(Layer, BatchNormalizationLayer, "BatchNormalization");

BatchNormalization::BatchNormalization(BatchNormalizationOptions options)
    : LayerHandle<BatchNormalizationLayer>(std::make_shared<BatchNormalizationLayer>(std::move(options))) {}

}  // namespace cohort::layers
