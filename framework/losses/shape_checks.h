#pragma once

#include "cohort/core/tensor.h"

namespace cohort::losses {

// Throws unless labels and predictions could have one shape.
inline void check_same_shape(const char* who, const Tensor& y_true, const Tensor& y_pred) {
  if (y_true.shape().compatible(y_pred.shape())) return;
  throw invalid_argument(who, "y_true and y_pred must have the same shape",
                         {{"y_true.shape", y_true.shape()}, {"y_pred.shape", y_pred.shape()}});
}

}  // namespace cohort::losses
