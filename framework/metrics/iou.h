#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cohort/metrics/metric.h"

namespace cohort::metrics {

// The options of IoU and MeanIoU.
struct IoUOptions {
  std::string name = {};
  // Type of the confusion matrix; with an integer type sample weights are truncated. The result is float32.
  DType dtype = DType::Int64;
  std::optional<std::int64_t> ignore_class = std::nullopt;
  // Whether y_true are class indices; otherwise one-hot along `axis`.
  bool sparse_y_true = true;
  // Whether y_pred are class indices; otherwise scores along `axis`.
  bool sparse_y_pred = true;
  // Axis of the classes in what is not class indices.
  int axis = -1;
};
COHORT_FIELDS(IoUOptions, ignore_class, sparse_y_true, sparse_y_pred, axis)

class IoUMetric : public Metric {
 public:
  IoUMetric() : IoUMetric(1, {0}) {}
  IoUMetric(std::int64_t num_classes, std::vector<std::int64_t> target_class_ids, IoUOptions options = {},
            const char* default_name = "io_u");
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  void update_state(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight = {}) override;
  Tensor result() override;

 protected:
  void ensure_state();
  std::int64_t num_classes_;
  std::vector<std::int64_t> target_class_ids_;
  IoUOptions options_;

 private:
  Variable total_;
};

struct BinaryIoUOptions {
  // Classes of whose IoU the mean is taken: {0}, {1} or both.
  std::vector<std::int64_t> target_class_ids = {0, 1};
  // Predictions from it on are of class 1, the others of class 0.
  double threshold = 0.5;
  std::string name = {};
  // Type of the confusion matrix; with an integer type sample weights are truncated. The result is float32.
  DType dtype = DType::Int64;
};

class BinaryIoUMetric : public IoUMetric {
 public:
  explicit BinaryIoUMetric(BinaryIoUOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;
  void update_state(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight = {}) override;

 private:
  double threshold_;
};

class MeanIoUMetric : public IoUMetric {
 public:
  MeanIoUMetric() : MeanIoUMetric(1) {}
  explicit MeanIoUMetric(std::int64_t num_classes, IoUOptions options = {}, const char* default_name = "mean_io_u");
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
};

// The options of OneHotIoU and OneHotMeanIoU.
struct OneHotIoUOptions {
  std::string name = {};
  // Type of the confusion matrix; with an integer type sample weights are truncated. The result is float32.
  DType dtype = DType::Int64;
  std::optional<std::int64_t> ignore_class = std::nullopt;
  // Whether y_pred are class indices; otherwise scores along `axis`.
  bool sparse_y_pred = false;
  // Axis of the classes.
  int axis = -1;
};

class OneHotIoUMetric : public IoUMetric {
 public:
  OneHotIoUMetric() : OneHotIoUMetric(1, {0}) {}
  OneHotIoUMetric(std::int64_t num_classes, std::vector<std::int64_t> target_class_ids, OneHotIoUOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;
};

class OneHotMeanIoUMetric : public MeanIoUMetric {
 public:
  OneHotMeanIoUMetric() : OneHotMeanIoUMetric(1) {}
  explicit OneHotMeanIoUMetric(std::int64_t num_classes, OneHotIoUOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;
};

// Intersection over union, the mean over some classes: true positives / (true positives + false positives + false
// negatives). Classes that do not occur are left out.
// y_true and y_pred class indices of one shape, any, or with the classes along `axis` as sparse_y_true and
// sparse_y_pred say; the result is a scalar.
//   num_classes: number of classes; labels and predictions outside of [0, num_classes) do not count.
//   target_class_ids: classes of whose IoU the mean is taken.
struct IoU : Metric::Handle<IoUMetric> {
  IoU(std::int64_t num_classes, std::vector<std::int64_t> target_class_ids, IoUOptions options = {});
};

// Intersection over union of two classes, told apart by a threshold on the predictions.
// y_true of 0 and 1 and y_pred, of one shape, any; the result is a scalar.
struct BinaryIoU : Metric::Handle<BinaryIoUMetric> {
  explicit BinaryIoU(BinaryIoUOptions options = {});
};

// Intersection over union, the mean over all classes that occur.
// y_true and y_pred class indices of one shape, any, or with the classes along `axis` as sparse_y_true and
// sparse_y_pred say; the result is a scalar.
//   num_classes: number of classes; labels and predictions outside of [0, num_classes) do not count.
struct MeanIoU : Metric::Handle<MeanIoUMetric> {
  explicit MeanIoU(std::int64_t num_classes, IoUOptions options = {});
};

// Intersection over union of one-hot labels, the mean over some classes.
// y_true one-hot and y_pred scores (batch, ..., classes), or class indices (batch, ...) with sparse_y_pred; the result
// is a scalar.
//   num_classes: number of classes; labels and predictions outside of [0, num_classes) do not count.
//   target_class_ids: classes of whose IoU the mean is taken.
struct OneHotIoU : Metric::Handle<OneHotIoUMetric> {
  OneHotIoU(std::int64_t num_classes, std::vector<std::int64_t> target_class_ids, OneHotIoUOptions options = {});
};

// Intersection over union of one-hot labels, the mean over all classes that occur.
// y_true one-hot and y_pred scores (batch, ..., classes), or class indices (batch, ...) with sparse_y_pred; the result
// is a scalar.
//   num_classes: number of classes; labels and predictions outside of [0, num_classes) do not count.
struct OneHotMeanIoU : Metric::Handle<OneHotMeanIoUMetric> {
  explicit OneHotMeanIoU(std::int64_t num_classes, OneHotIoUOptions options = {});
};

}  // namespace cohort::metrics
