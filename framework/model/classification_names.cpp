#include "cohort/model/classification_names.h"

#include <cctype>

namespace cohort {

LabelMeasure label_measure(std::string name) {
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (name == "accuracy" || name == "acc") return LabelMeasure::Accuracy;
  if (name == "crossentropy" || name == "ce") return LabelMeasure::Crossentropy;
  return LabelMeasure::None;
}

std::string class_for_labels(LabelMeasure measure, const Tensor& y_true, const Tensor& y_pred) {
  const std::int64_t predicted = y_pred.rank() > 0 ? y_pred.shape().back() : 1;
  const std::int64_t given = y_true.rank() > 0 ? y_true.shape().back() : 1;
  const bool sparse = y_true.rank() < y_pred.rank() || (given == 1 && predicted > 1);
  const std::string labels = predicted == 1 ? "Binary" : sparse ? "SparseCategorical" : "Categorical";
  return labels + (measure == LabelMeasure::Accuracy ? "Accuracy" : "Crossentropy");
}

}  // namespace cohort
