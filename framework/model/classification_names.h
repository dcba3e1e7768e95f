#pragma once

#include <string>

#include "cohort/core/tensor.h"

namespace cohort {

// What compile's names "accuracy" ("acc") and "crossentropy" ("ce") ask for, in any case: which class that is depends
// on the labels, and is known once an output and its target are.
enum class LabelMeasure { None, Accuracy, Crossentropy };
LabelMeasure label_measure(std::string name);
// The class for an output and its target, by Keras's rule: "BinaryAccuracy", "SparseCategoricalCrossentropy", ...
std::string class_for_labels(LabelMeasure measure, const Tensor& y_true, const Tensor& y_pred);

}  // namespace cohort
