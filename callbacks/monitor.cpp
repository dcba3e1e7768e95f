#include "cohort/callbacks/monitor.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "cohort/core/error.h"
#include "cohort/core/log.h"
#include "cohort/model/model.h"

namespace cohort::callbacks {
namespace {

// Metric classes of Keras whose larger values are better, besides all accuracies.
constexpr std::array<std::string_view, 20> kGreaterIsBetter = {"AUC",
                                                               "Precision",
                                                               "Recall",
                                                               "F1Score",
                                                               "FBetaScore",
                                                               "R2Score",
                                                               "IoU",
                                                               "BinaryIoU",
                                                               "MeanIoU",
                                                               "OneHotIoU",
                                                               "OneHotMeanIoU",
                                                               "CosineSimilarity",
                                                               "TruePositives",
                                                               "TrueNegatives",
                                                               "PrecisionAtRecall",
                                                               "RecallAtPrecision",
                                                               "SensitivityAtSpecificity",
                                                               "SpecificityAtSensitivity",
                                                               "ConcordanceCorrelation",
                                                               "PearsonCorrelation"};

bool greater_is_better(const std::string& class_name) {
  return class_name.ends_with("Accuracy") ||
         std::find(kGreaterIsBetter.begin(), kGreaterIsBetter.end(), class_name) != kGreaterIsBetter.end();
}

}  // namespace

Monitor::Monitor(std::string who, std::string name, std::string mode, double min_delta)
    : who_(std::move(who)), name_(std::move(name)), direction_(Direction::Unknown), min_delta_(std::abs(min_delta)) {
  if (mode == "min") {
    direction_ = Direction::Less;
  } else if (mode == "max") {
    direction_ = Direction::Greater;
  } else if (mode != "auto") {
    throw invalid_argument(who_, "mode must be 'auto', 'min' or 'max'", {{"mode", "'" + mode + "'"}});
  }
}

std::optional<double> Monitor::value(const Logs& logs) const {
  const std::optional<double> found = logs.find(name_);
  if (!found) {
    std::string known;
    for (const auto& [name, value] : logs) known += (known.empty() ? "" : ", ") + name;
    log::warn(who_ + ": the monitored figure is not logged. Received: monitor='" + name_ + "'. Logged are: " + known +
              ".");
  }
  return found;
}

void Monitor::decide(const Model& model) {
  const std::string metric = name_.starts_with("val_") ? name_.substr(4) : name_;
  if (metric == "loss") {
    direction_ = Direction::Less;
    return;
  }
  for (const Ref<Metric>& each : model.metrics()) {
    if (model.result_name(each) != metric && each->name() != metric) continue;
    direction_ = greater_is_better(each->class_name()) ? Direction::Greater : Direction::Less;
    return;
  }
  throw invalid_argument(who_, "monitor must be a figure whose better direction is known", {{"monitor", name_}},
                         "Give mode = \"max\" or mode = \"min\".");
}

bool Monitor::improved(double now, std::optional<double> before, const Model& model) {
  if (direction_ == Direction::Unknown) decide(model);
  if (!before) return true;
  // Keras compares in float32; so decisions at the edge come out alike.
  const auto reference = static_cast<float>(*before);
  return direction_ == Direction::Less ? static_cast<float>(now + min_delta_) < reference
                                       : static_cast<float>(now - min_delta_) > reference;
}

}  // namespace cohort::callbacks
