#include "cohort/losses/loss.h"

#include <algorithm>
#include <array>
#include <optional>

#include "cohort/core/masks.h"
#include "cohort/core/text.h"
#include "cohort/graph/trace.h"
#include "cohort/ops/array.h"
#include "cohort/ops/functions.h"
#include "cohort/ops/math.h"
#include "cohort/ops/reduce.h"
#include "cohort/variables/replica_context.h"

namespace cohort {
namespace {

constexpr std::array kReductions = {"sum_over_batch_size", "sum", "mean", "mean_with_sample_weight", "none", "None"};

// What losses compute in: half types and integers become float32.
DType compute_dtype(DType dtype) { return dtype == DType::Float64 ? dtype : DType::Float32; }

// The product with the mask would fail too, but not say what is wrong.
void check_mask(const std::string& name, const Tensor& mask, const Tensor& values) {
  const auto [lined_up, by] = squeeze_or_expand_to_same_rank(values, mask);
  const Shape &shape = lined_up.shape(), &mask_shape = by.shape();
  bool fits = mask_shape.rank() <= shape.rank();
  for (int i = 1; fits && i <= mask_shape.rank(); ++i) {
    const std::int64_t size = shape[shape.rank() - i], given = mask_shape[mask_shape.rank() - i];
    fits = size == given || size == 1 || given == 1 || size == kUnknown || given == kUnknown;
  }
  if (fits) return;
  throw invalid_argument(titled("Loss", name), "the mask of y_pred must have the shape of the loss's values",
                         {{"mask.shape", mask.shape()}, {"values.shape", values.shape()}},
                         "A layer that changes the steps must override compute_mask.");
}

}  // namespace

Loss::Loss(std::string name, std::string reduction) : name_(std::move(name)), reduction_(std::move(reduction)) {
  Loss::fields_changed();
}

void Loss::visit_fields(FieldVisitor& visitor) {
  visitor.field("name", name_);
  // Keras's None: the same as "none", but null in a config.
  std::optional<std::string> reduction = reduction_ == "None" ? std::nullopt : std::optional(reduction_);
  visitor.field("reduction", reduction);
  reduction_ = reduction.value_or("None");
}

void Loss::fields_changed() {
  if (std::find(kReductions.begin(), kReductions.end(), reduction_) == kReductions.end()) {
    throw invalid_argument(
        titled("Loss", name_),
        "reduction must be 'sum_over_batch_size', 'sum', 'mean', 'mean_with_sample_weight' or 'none'",
        {{"reduction", in_quotes(reduction_)}});
  }
}

Tensor Loss::operator()(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight, const Tensor& mask) {
  NameScope scope(name_);
  const Tensor predictions = ops::cast(y_pred, compute_dtype(y_pred.dtype()));
  const Tensor labels = labels_are_classes() ? y_true : ops::cast(y_true, predictions.dtype());
  auto [values, own_mask] = call_masked(labels, predictions);
  const Tensor carried = mask.defined() ? mask : mask_of(y_pred);
  if (carried.defined()) check_mask(name_, carried, values);
  Tensor both = carried.defined() ? carried : own_mask;
  if (carried.defined() && own_mask.defined()) both = ops::logical_and(carried, own_mask);
  const Tensor loss = reduce_weighted(values, sample_weight, both, reduction_);
  const bool is_mean = reduction_ == "sum_over_batch_size" || reduction_.starts_with("mean");
  return is_mean ? scale_loss_for_replica(loss) : loss;
}

std::pair<Tensor, Tensor> squeeze_or_expand_to_same_rank(const Tensor& y_true, const Tensor& y_pred) {
  const int true_rank = y_true.rank(), pred_rank = y_pred.rank();
  if (true_rank == pred_rank + 1 && y_true.shape().back() == 1) {
    if (pred_rank == 1) return {y_true, ops::expand_dims(y_pred, -1)};
    return {ops::squeeze(y_true, {-1}), y_pred};
  }
  if (pred_rank == true_rank + 1 && y_pred.shape().back() == 1) {
    if (true_rank == 1) return {ops::expand_dims(y_true, -1), y_pred};
    return {y_true, ops::squeeze(y_pred, {-1})};
  }
  return {y_true, y_pred};
}

Tensor apply_mask(const Tensor& sample_weight, const Tensor& mask, DType dtype, const std::string& reduction) {
  if (!mask.defined()) return sample_weight;
  Tensor weights = ops::cast(mask, dtype);
  if (reduction == "mean" || reduction == "sum_over_batch_size") {
    weights = weights * ops::divide_no_nan(ops::size_of(mask, {}, dtype), ops::sum(weights));
  }
  if (!sample_weight.defined()) return weights;
  auto [masked, given] = squeeze_or_expand_to_same_rank(weights, ops::cast(sample_weight, dtype));
  // Weights of samples would be taken for weights of steps where a batch has as many of either.
  if (given.rank() != 0 && given.rank() != masked.rank()) {
    throw invalid_argument("Sample weights", "what has a mask is weighted step by step, as (batch, steps)",
                           {{"sample_weight.shape", sample_weight.shape()}, {"mask.shape", mask.shape()}},
                           "Give a weight for each sample as (batch, 1).");
  }
  return given * masked;
}

Tensor reduce_weighted(Tensor values, const Tensor& sample_weight, const Tensor& mask, const std::string& reduction) {
  Tensor weights = apply_mask(sample_weight, mask, values.dtype(), reduction);
  if (weights.defined()) {
    std::tie(values, weights) = squeeze_or_expand_to_same_rank(values, ops::cast(weights, values.dtype()));
    values = values * weights;
  }
  if (reduction == "none" || reduction == "None" || values.rank() == 0) return values;
  if (reduction == "sum") return ops::sum(values);
  if (reduction == "mean_with_sample_weight" && weights.defined()) {
    return ops::divide_no_nan(ops::sum(values), ops::sum(weights));
  }
  return ops::mean(values);
}

Registry<Loss>& Loss::registry() {
  static auto* registry = new Registry<Loss>("loss");
  return *registry;
}

}  // namespace cohort
