#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cohort/metrics/metric.h"

namespace cohort::metrics {

struct IoUOptions {
  std::string name = {};
  DType dtype = DType::Int64;
  std::optional<std::int64_t> ignore_class = std::nullopt;
  bool sparse_y_true = true;  // class numbers; else one-hot or scores along `axis`
  bool sparse_y_pred = true;
  int axis = -1;
};

// Intersection over union, the mean over some classes: true positives / (true positives + false positives + false
// negatives), from a confusion matrix (classes, classes). Labels outside the classes do not count.
class IoUMetric : public Metric {
 public:
  IoUMetric() : IoUMetric(1, {0}) {}
  IoUMetric(std::int64_t num_classes, std::vector<std::int64_t> target_class_ids, IoUOptions options = {},
            const char* default_name = "io_u");
  std::string class_name() const override { return "IoU"; }
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
  std::vector<std::int64_t> target_class_ids = {0, 1};
  double threshold = 0.5;
  std::string name = {};
  DType dtype = DType::Int64;
};

// IoU of two classes, told apart by a threshold on the predictions.
class BinaryIoUMetric : public IoUMetric {
 public:
  explicit BinaryIoUMetric(BinaryIoUOptions options = {});
  std::string class_name() const override { return "BinaryIoU"; }
  void visit_fields(FieldVisitor& visitor) override;
  void update_state(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight = {}) override;

 private:
  double threshold_;
};

// The mean of IoU over all classes.
class MeanIoUMetric : public IoUMetric {
 public:
  MeanIoUMetric() : MeanIoUMetric(1) {}
  explicit MeanIoUMetric(std::int64_t num_classes, IoUOptions options = {}, const char* default_name = "mean_io_u");
  std::string class_name() const override { return "MeanIoU"; }
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
};

struct OneHotIoUOptions {
  std::string name = {};
  DType dtype = DType::Int64;
  std::optional<std::int64_t> ignore_class = std::nullopt;
  bool sparse_y_pred = false;
  int axis = -1;
};

// IoU for one-hot labels.
class OneHotIoUMetric : public IoUMetric {
 public:
  OneHotIoUMetric() : OneHotIoUMetric(1, {0}) {}
  OneHotIoUMetric(std::int64_t num_classes, std::vector<std::int64_t> target_class_ids, OneHotIoUOptions options = {});
  std::string class_name() const override { return "OneHotIoU"; }
  void visit_fields(FieldVisitor& visitor) override;
};

// MeanIoU for one-hot labels.
class OneHotMeanIoUMetric : public MeanIoUMetric {
 public:
  OneHotMeanIoUMetric() : OneHotMeanIoUMetric(1) {}
  explicit OneHotMeanIoUMetric(std::int64_t num_classes, OneHotIoUOptions options = {});
  std::string class_name() const override { return "OneHotMeanIoU"; }
  void visit_fields(FieldVisitor& visitor) override;
};

struct IoU : Metric::Handle<IoUMetric> {
  IoU(std::int64_t num_classes, std::vector<std::int64_t> target_class_ids, IoUOptions options = {})
      : Handle(std::make_shared<IoUMetric>(num_classes, std::move(target_class_ids), std::move(options))) {}
};
struct BinaryIoU : Metric::Handle<BinaryIoUMetric> {
  explicit BinaryIoU(BinaryIoUOptions options = {}) : Handle(std::make_shared<BinaryIoUMetric>(std::move(options))) {}
};
struct MeanIoU : Metric::Handle<MeanIoUMetric> {
  explicit MeanIoU(std::int64_t num_classes, IoUOptions options = {})
      : Handle(std::make_shared<MeanIoUMetric>(num_classes, std::move(options))) {}
};
struct OneHotIoU : Metric::Handle<OneHotIoUMetric> {
  OneHotIoU(std::int64_t num_classes, std::vector<std::int64_t> target_class_ids, OneHotIoUOptions options = {})
      : Handle(std::make_shared<OneHotIoUMetric>(num_classes, std::move(target_class_ids), std::move(options))) {}
};
struct OneHotMeanIoU : Metric::Handle<OneHotMeanIoUMetric> {
  explicit OneHotMeanIoU(std::int64_t num_classes, OneHotIoUOptions options = {})
      : Handle(std::make_shared<OneHotMeanIoUMetric>(num_classes, std::move(options))) {}
};

}  // namespace cohort::metrics
