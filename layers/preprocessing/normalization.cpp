#include "cohort/layers/preprocessing/normalization.h"

#include <algorithm>

#include "cohort/core/dispatch.h"
#include "cohort/graph/trace.h"
#include "cohort/ops/array.h"
#include "cohort/ops/epsilon.h"
#include "cohort/ops/math.h"
#include "cohort/ops/reduce.h"

namespace cohort::layers {
// Mean and variance of some batches, and over how many elements each runs.
struct NormalizationLayer::Moments {
  Tensor mean, variance;
  double count = 0;

  void add(const Tensor& data, const std::vector<std::int64_t>& axes) {
    double elements = 1;
    for (std::int64_t axis : axes) elements *= static_cast<double>(data.shape()[static_cast<int>(axis)]);
    if (elements == 0) return;
    const Tensor real = ops::cast(data, DType::Float32);
    const Tensor own_mean = axes.empty() ? real : ops::mean(real, axes);
    const Tensor own_variance = axes.empty() ? real - real : ops::variance(real, axes);
    count += elements;
    if (!mean.defined()) {
      mean = own_mean;
      variance = own_variance;
      return;
    }
    const double weight = elements / count;
    const Tensor merged = mean * (1.0 - weight) + own_mean * weight;
    variance = (variance + ops::square(mean - merged)) * (1.0 - weight) +
               (own_variance + ops::square(own_mean - merged)) * weight;
    mean = merged;
  }
};

NormalizationLayer::NormalizationLayer(NormalizationOptions options) : options_(std::move(options)) {
  supports_masking_ = true;
  take_options(options_);
  NormalizationLayer::fields_changed();
}

void NormalizationLayer::visit_fields(FieldVisitor& visitor) {
  Layer::visit_fields(visitor);
  visit_options(options_, visitor);
}

void NormalizationLayer::fields_changed() {
  if (options_.mean.has_value() != options_.variance.has_value()) {
    throw invalid_argument(
        class_name(), "mean and variance must be given together",
        {{"mean", options_.mean ? "given" : "None"}, {"variance", options_.variance ? "given" : "None"}});
  }
  if (options_.mean && !(options_.mean->shape() == options_.variance->shape())) {
    throw invalid_argument(class_name(), "mean and variance must have one shape",
                           {{"mean", options_.mean->shape()}, {"variance", options_.variance->shape()}});
  }
}

void NormalizationLayer::build(const Shape& input) {
  kept_.clear();
  reduced_.clear();
  broadcast_shape_ = {};
  for (std::int64_t axis : options_.axis) {
    if (axis < -input.rank() || axis >= input.rank()) {
      throw invalid_argument(title(), "axis must be one of the input's", {{"axis", axis}, {"input.shape", input}});
    }
    kept_.push_back(axis < 0 ? axis + input.rank() : axis);
  }
  std::sort(kept_.begin(), kept_.end());
  Shape moments;
  for (int i = 0; i < input.rank(); ++i) {
    const bool kept = std::find(kept_.begin(), kept_.end(), i) != kept_.end();
    if (kept && input[i] == kUnknown) {
      throw invalid_argument(title(), "a kept axis must have a known size", {{"axis", i}, {"input.shape", input}});
    }
    broadcast_shape_.push_back(kept ? input[i] : 1);
    if (kept) {
      moments.push_back(input[i]);
    } else {
      reduced_.push_back(i);
    }
  }
  if (options_.mean) {
    const auto given = static_cast<std::int64_t>(options_.mean->values().size());
    if (given != 1 && given != moments.num_elements() && (moments.rank() == 0 || given != moments.back())) {
      throw invalid_argument(title(), "mean must have a value for each index of the kept axes",
                             {{"mean", given}, {"kept axes", moments}});
    }
    return;
  }
  mean_ = add_weight("mean", moments, {.initializer = "zeros", .trainable = false});
  variance_ = add_weight("variance", moments, {.initializer = "ones", .trainable = false});
  count_ = add_weight("count", {}, {.initializer = "zeros", .dtype = DType::Int64, .trainable = false});
}

Tensor NormalizationLayer::spread(const Tensor& moment) const {
  std::vector<std::int64_t> shape(broadcast_shape_.begin(), broadcast_shape_.end());
  const std::int64_t count = moment.num_elements();
  if (count != broadcast_shape_.num_elements()) {
    // Fewer values than indices belong to the last kept axis, or are one for all.
    std::fill(shape.begin(), shape.end(), 1);
    if (count != 1) shape[static_cast<std::size_t>(kept_.back())] = count;
  }
  return ops::reshape(ops::cast(moment, compute_dtype()), shape);
}

Tensor NormalizationLayer::call(const Tensor& input, const CallContext&) {
  const auto given = [](const NestedNumbers& numbers) { return Tensor::of(numbers.values(), numbers.shape()); };
  const Tensor mean = spread(options_.mean ? given(*options_.mean) : mean_.value());
  const Tensor variance = spread(options_.mean ? given(*options_.variance) : variance_.value());
  const Tensor x = ops::cast(input, compute_dtype()), deviation = ops::maximum(ops::sqrt(variance), kEpsilon);
  return options_.invert ? mean + x * deviation : (x - mean) / deviation;
}

void NormalizationLayer::check_given() const {
  if (!options_.mean) return;
  throw failed_precondition(title(), "a layer whose mean and variance are given cannot adapt");
}

void NormalizationLayer::set_moments(const Moments& moments) {
  if (!moments.mean.defined()) throw invalid_argument(title(), "adapt() needs data", {{"elements", 0}});
  write_now(mean_, ops::cast(moments.mean, dtype()));
  write_now(variance_, ops::cast(moments.variance, dtype()));
}

void NormalizationLayer::adapt(const Tensor& data) {
  check_given();
  EagerScope eager;
  ensure_built({data.shape()});
  Moments moments;
  moments.add(data, reduced_);
  set_moments(moments);
}

void NormalizationLayer::adapt(const Dataset& data) {
  check_given();
  EagerScope eager;
  Moments moments;
  Tensors element;
  for (const auto iterator = data.make_iterator(); iterator->next(element);) {
    ensure_built({element.at(0).shape()});
    moments.add(element.at(0), reduced_);
  }
  if (built()) set_moments(moments);
}

COHORT_REGISTER(Layer, NormalizationLayer, "Normalization");

Normalization::Normalization(NormalizationOptions options)
    : LayerHandle<NormalizationLayer>(std::make_shared<NormalizationLayer>(std::move(options))) {}

}  // namespace cohort::layers
