#include "cohort/callbacks/monitor.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <string_view>

#include "cohort/core/error.h"
#include "cohort/core/log.h"
#include "cohort/core/text.h"
#include "cohort/model/model.h"

namespace cohort::callbacks {
namespace {

using ClassNames = std::span<const std::string_view>;

// What Keras knows of its metrics besides all accuracies and crossentropies.
constexpr std::string_view kGreaterIsBetter[] = {"AUC",
                                                 "BinaryIoU",
                                                 "ConcordanceCorrelation",
                                                 "CosineSimilarity",
                                                 "F1Score",
                                                 "FBetaScore",
                                                 "IoU",
                                                 "MeanIoU",
                                                 "OneHotIoU",
                                                 "OneHotMeanIoU",
                                                 "PearsonCorrelation",
                                                 "Precision",
                                                 "PrecisionAtRecall",
                                                 "R2Score",
                                                 "Recall",
                                                 "RecallAtPrecision",
                                                 "SensitivityAtSpecificity",
                                                 "SpecificityAtSensitivity"};
constexpr std::string_view kLessIsBetter[] = {"CategoricalHinge",  "Hinge",
                                              "KLDivergence",      "LogCoshError",
                                              "MeanAbsoluteError", "MeanAbsolutePercentageError",
                                              "MeanSquaredError",  "MeanSquaredLogarithmicError",
                                              "Poisson",           "RootMeanSquaredError",
                                              "SquaredHinge"};

bool is_among(const std::string& class_name, ClassNames names) {
  return std::find(names.begin(), names.end(), class_name) != names.end();
}

bool greater_is_better(const std::string& class_name) {
  return class_name.ends_with("Accuracy") || is_among(class_name, kGreaterIsBetter);
}

// A loss that serves as a metric is one of Keras's functions.
bool less_is_better(const Metric& metric) {
  const std::string class_name = metric.class_name();
  return class_name.ends_with("Crossentropy") || is_among(class_name, kLessIsBetter) ||
         (class_name == "MeanMetricWrapper" && Loss::registry().has(metric.name()));
}

}  // namespace

Monitor::Monitor(std::string who, std::string name, std::string mode, double min_delta)
    : who_(std::move(who)), name_(std::move(name)), direction_(Direction::Unknown), min_delta_(std::abs(min_delta)) {
  if (mode == "min") {
    direction_ = Direction::Less;
  } else if (mode == "max") {
    direction_ = Direction::Greater;
  } else if (mode != "auto") {
    log::warn(who_ + ": mode must be 'auto', 'min' or 'max'. Received: mode='" + mode + "'. It is taken for 'auto'.");
  }
}

std::optional<double> Monitor::value(const Logs& logs) const {
  const std::optional<double> found = logs.find(name_);
  if (!found) {
    log::warn(who_ + ": the monitored figure is not logged. Received: monitor=" + in_quotes(name_) +
              ". Logged are: " + join(logs, [](const auto& each) { return each.first; }) + ".");
  }
  return found;
}

void Monitor::decide(const Model& model) {
  if (direction_ != Direction::Unknown) return;
  const std::string metric = name_.starts_with("val_") ? name_.substr(4) : name_;
  if (metric == "loss") direction_ = Direction::Less;
  for (const Ref<Metric>& each : model.metrics()) {
    if (model.result_name(each) != metric && each->name() != metric) continue;
    if (greater_is_better(each->class_name())) direction_ = Direction::Greater;
    if (less_is_better(*each)) direction_ = Direction::Less;
  }
  if (direction_ == Direction::Unknown) {
    throw invalid_argument(who_, "monitor must be a figure whose better direction is known", {{"monitor", name_}},
                           "Give mode = \"max\" or mode = \"min\".");
  }
}

bool Monitor::improved(double now, std::optional<double> before, const Model& model) {
  decide(model);
  if (!before) return true;
  // Keras compares in float32; so decisions at the edge come out alike.
  const auto reference = static_cast<float>(*before);
  return direction_ == Direction::Less ? static_cast<float>(now + min_delta_) < reference
                                       : static_cast<float>(now - min_delta_) > reference;
}

}  // namespace cohort::callbacks
