#include "cohort/losses/loss.h"

#include <algorithm>
#include <array>

#include "cohort/graph/trace.h"
#include "cohort/ops/array.h"
#include "cohort/ops/math.h"
#include "cohort/ops/reduce.h"

namespace cohort {
namespace {

constexpr std::array kReductions = {"sum_over_batch_size", "sum", "mean", "mean_with_sample_weight", "none"};

// What losses compute in: half types and integers become float32.
DType compute_dtype(DType dtype) { return dtype == DType::Float64 ? dtype : DType::Float32; }

}  // namespace

Loss::Loss(std::string name, std::string reduction) : name_(std::move(name)), reduction_(std::move(reduction)) {
  Loss::fields_changed();
}

void Loss::visit_fields(FieldVisitor& visitor) {
  visitor.field("name", name_);
  visitor.field("reduction", reduction_);
}

void Loss::fields_changed() {
  if (std::find(kReductions.begin(), kReductions.end(), reduction_) == kReductions.end()) {
    throw invalid_argument(
        "Loss '" + name_ + "'",
        "reduction must be 'sum_over_batch_size', 'sum', 'mean', 'mean_with_sample_weight' or 'none'",
        {{"reduction", "'" + reduction_ + "'"}});
  }
}

Tensor Loss::operator()(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight, const Tensor& mask) {
  NameScope scope(name_);
  const Tensor predictions = ops::cast(y_pred, compute_dtype(y_pred.dtype()));
  const Tensor labels = labels_are_classes() ? y_true : ops::cast(y_true, predictions.dtype());
  auto [values, own_mask] = call_masked(labels, predictions);
  Tensor both = mask.defined() ? mask : own_mask;
  if (mask.defined() && own_mask.defined()) both = ops::logical_and(mask, own_mask);
  return reduce_weighted(values, sample_weight, both, reduction_);
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

Tensor divide_no_nan(const Tensor& a, const Tensor& b) {
  const Tensor is_zero = ops::equal(b, 0.0);
  return ops::where(is_zero, 0.0, a / ops::where(is_zero, 1.0, b));
}

Tensor apply_mask(const Tensor& sample_weight, const Tensor& mask, DType dtype, const std::string& reduction) {
  if (!mask.defined()) return sample_weight;
  Tensor weights = ops::cast(mask, dtype);
  if (reduction == "mean" || reduction == "sum_over_batch_size") {
    weights = weights * divide_no_nan(ops::size_of(mask, {}, dtype), ops::sum(weights));
  }
  if (!sample_weight.defined()) return weights;
  auto [masked, given] = squeeze_or_expand_to_same_rank(weights, ops::cast(sample_weight, dtype));
  return given * masked;
}

Tensor reduce_weighted(Tensor values, const Tensor& sample_weight, const Tensor& mask, const std::string& reduction) {
  Tensor weights = apply_mask(sample_weight, mask, values.dtype(), reduction);
  if (weights.defined()) {
    std::tie(values, weights) = squeeze_or_expand_to_same_rank(values, ops::cast(weights, values.dtype()));
    values = values * weights;
  }
  if (reduction == "none" || values.rank() == 0) return values;
  if (reduction == "sum") return ops::sum(values);
  if (reduction == "mean_with_sample_weight" && weights.defined()) {
    return divide_no_nan(ops::sum(values), ops::sum(weights));
  }
  return ops::mean(values);
}

Registry<Loss>& Loss::registry() {
  static auto* registry = new Registry<Loss>("loss");
  return *registry;
}

}  // namespace cohort
