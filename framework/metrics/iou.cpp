#include "cohort/metrics/iou.h"

#include <algorithm>
#include <numeric>

#include "cohort/core/text.h"
#include "cohort/ops/array.h"
#include "cohort/ops/broadcast.h"
#include "cohort/ops/creation.h"
#include "cohort/ops/epsilon.h"
#include "cohort/ops/indexing.h"
#include "cohort/ops/math.h"
#include "cohort/ops/reduce.h"

namespace cohort::metrics {
namespace {

std::vector<std::int64_t> all_classes(std::int64_t count) {
  std::vector<std::int64_t> classes(static_cast<std::size_t>(std::max<std::int64_t>(count, 0)));
  std::iota(classes.begin(), classes.end(), 0);
  return classes;
}

Tensor inside(const Tensor& classes, std::int64_t count) {
  return ops::logical_and(classes >= 0.0, classes < static_cast<double>(count));
}

IoUOptions general(const OneHotIoUOptions& options) {
  return {options.name, options.dtype, options.ignore_class, false, options.sparse_y_pred, options.axis};
}

}  // namespace

IoUMetric::IoUMetric(std::int64_t num_classes, std::vector<std::int64_t> target_class_ids, IoUOptions options,
                     const char* default_name)
    : Metric(options.name.empty() ? default_name : options.name, options.dtype),
      num_classes_(num_classes),
      target_class_ids_(std::move(target_class_ids)),
      options_(std::move(options)) {
  IoUMetric::fields_changed();
}

void IoUMetric::visit_fields(FieldVisitor& visitor) {
  Metric::visit_fields(visitor);
  visitor.field("num_classes", num_classes_);
  visitor.field("target_class_ids", target_class_ids_);
  visit_options(options_, visitor);
}

void IoUMetric::fields_changed() {
  const std::string who = titled("Metric", name());
  if (num_classes_ < 1) {
    throw invalid_argument(who, "num_classes must be at least 1", {{"num_classes", num_classes_}});
  }
  if (target_class_ids_.empty()) throw invalid_argument(who, "at least one target class is expected");
  for (std::int64_t id : target_class_ids_) {
    if (id >= 0 && id < num_classes_) continue;
    throw invalid_argument(who, "target_class_ids must lie in [0, " + std::to_string(num_classes_) + ")",
                           {{"target_class_id", id}});
  }
}

void IoUMetric::ensure_state() {
  if (!total_.defined()) total_ = add_variable("total_confusion_matrix", {num_classes_, num_classes_});
}

void IoUMetric::update_state(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight) {
  ensure_state();
  const auto classes = [&](const Tensor& given, bool sparse) {
    const Tensor numbers = ops::cast(sparse ? given : ops::argmax(given, options_.axis), DType::Int64);
    return numbers.rank() == 1 ? numbers : ops::reshape(numbers, {-1});
  };
  const Tensor labels = classes(y_true, options_.sparse_y_true), found = classes(y_pred, options_.sparse_y_pred);
  if (!labels.shape().compatible(found.shape())) {
    throw invalid_argument(titled("Metric", name()), "y_true and y_pred must name as many classes",
                           {{"y_true.shape", y_true.shape()}, {"y_pred.shape", y_pred.shape()}});
  }
  Tensor counts = ops::logical_and(inside(labels, num_classes_), inside(found, num_classes_));
  if (options_.ignore_class) {
    counts = ops::logical_and(counts, ops::not_equal(labels, static_cast<double>(*options_.ignore_class)));
  }
  // Weights are cut to whole numbers where the matrix counts in them, as in Keras.
  Tensor weights = ops::cast(counts, dtype());
  if (sample_weight.defined()) {
    Tensor given = ops::cast(sample_weight, dtype());
    if (given.rank() > 1) given = ops::reshape(given, {-1});
    weights = ops::broadcast_like(given, labels) * weights;
  }
  const Tensor place = ops::where(counts, labels * static_cast<double>(num_classes_) + found, 0.0);
  const Tensor cells = ops::scatter_add_like(ops::zeros({num_classes_ * num_classes_}, dtype()), place, weights);
  total_.assign_add(ops::reshape(cells, {num_classes_, num_classes_}));
}

Tensor IoUMetric::result() {
  ensure_state();
  const Tensor matrix = total_;
  const Tensor right = ops::sum(matrix * ops::eye(num_classes_, -1, 0, dtype()), 0);
  const Tensor united = ops::sum(matrix, 0) + ops::sum(matrix, 1) - right;
  const Tensor targets = Tensor::of(target_class_ids_, {static_cast<std::int64_t>(target_class_ids_.size())});
  const Tensor of_all = ops::cast(ops::gather(united, targets), DType::Float32);
  const Tensor of_right = ops::cast(ops::gather(right, targets), DType::Float32);
  const Tensor seen = of_all > 1e-9;
  const Tensor share = ops::where(seen, of_right / (of_all + kEpsilon), 0.0);
  return ops::sum(share) / (ops::sum(ops::cast(seen, DType::Float32)) + kEpsilon);
}

BinaryIoUMetric::BinaryIoUMetric(BinaryIoUOptions options)
    : IoUMetric(2, std::move(options.target_class_ids), {options.name, options.dtype}, "binary_io_u"),
      threshold_(options.threshold) {}

void BinaryIoUMetric::visit_fields(FieldVisitor& visitor) {
  Metric::visit_fields(visitor);
  visitor.field("target_class_ids", target_class_ids_);
  visitor.field("threshold", threshold_);
}

void BinaryIoUMetric::update_state(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight) {
  const Tensor scores = ops::cast(y_pred, DType::Float32);
  IoUMetric::update_state(y_true, ops::cast(scores >= threshold_, DType::Int64), sample_weight);
}

MeanIoUMetric::MeanIoUMetric(std::int64_t num_classes, IoUOptions options, const char* default_name)
    : IoUMetric(num_classes, all_classes(num_classes), std::move(options), default_name) {}

void MeanIoUMetric::visit_fields(FieldVisitor& visitor) {
  Metric::visit_fields(visitor);
  visitor.field("num_classes", num_classes_);
  visit_options(options_, visitor);
}

void MeanIoUMetric::fields_changed() {
  target_class_ids_ = all_classes(num_classes_);
  IoUMetric::fields_changed();
}

OneHotIoUMetric::OneHotIoUMetric(std::int64_t num_classes, std::vector<std::int64_t> target_class_ids,
                                 OneHotIoUOptions options)
    : IoUMetric(num_classes, std::move(target_class_ids), general(options), "one_hot_io_u") {}

void OneHotIoUMetric::visit_fields(FieldVisitor& visitor) {
  Metric::visit_fields(visitor);
  visitor.field("num_classes", num_classes_);
  visitor.field("target_class_ids", target_class_ids_);
  visitor.field("ignore_class", options_.ignore_class);
  visitor.field("sparse_y_pred", options_.sparse_y_pred);
  visitor.field("axis", options_.axis);
}

OneHotMeanIoUMetric::OneHotMeanIoUMetric(std::int64_t num_classes, OneHotIoUOptions options)
    : MeanIoUMetric(num_classes, general(options), "one_hot_mean_io_u") {}

void OneHotMeanIoUMetric::visit_fields(FieldVisitor& visitor) {
  Metric::visit_fields(visitor);
  visitor.field("num_classes", num_classes_);
  visitor.field("ignore_class", options_.ignore_class);
  visitor.field("sparse_y_pred", options_.sparse_y_pred);
  visitor.field("axis", options_.axis);
}

COHORT_REGISTER(Metric, IoUMetric, "IoU");
COHORT_REGISTER(Metric, BinaryIoUMetric, "BinaryIoU", "binary_io_u");
COHORT_REGISTER(Metric, MeanIoUMetric, "MeanIoU");
COHORT_REGISTER(Metric, OneHotIoUMetric, "OneHotIoU");
COHORT_REGISTER(Metric, OneHotMeanIoUMetric, "OneHotMeanIoU");

IoU::IoU(std::int64_t num_classes, std::vector<std::int64_t> target_class_ids, IoUOptions options)
    : Handle(std::make_shared<IoUMetric>(num_classes, std::move(target_class_ids), std::move(options))) {}
BinaryIoU::BinaryIoU(BinaryIoUOptions options) : Handle(std::make_shared<BinaryIoUMetric>(std::move(options))) {}
MeanIoU::MeanIoU(std::int64_t num_classes, IoUOptions options)
    : Handle(std::make_shared<MeanIoUMetric>(num_classes, std::move(options))) {}
OneHotIoU::OneHotIoU(std::int64_t num_classes, std::vector<std::int64_t> target_class_ids, OneHotIoUOptions options)
    : Handle(std::make_shared<OneHotIoUMetric>(num_classes, std::move(target_class_ids), std::move(options))) {}
OneHotMeanIoU::OneHotMeanIoU(std::int64_t num_classes, OneHotIoUOptions options)
    : Handle(std::make_shared<OneHotMeanIoUMetric>(num_classes, std::move(options))) {}

}  // namespace cohort::metrics
