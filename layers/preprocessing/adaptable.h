#pragma once

#include "cohort/core/tensor.h"
#include "cohort/data/dataset.h"

namespace cohort::layers {

// A layer that learns from data before training.
class Adaptable {
 public:
  virtual ~Adaptable() = default;
  // From samples (batch, ...).
  virtual void adapt(const Tensor& data) = 0;
  // From all batches of a dataset: the first leaf of each.
  virtual void adapt(const Dataset& data) = 0;
};

}  // namespace cohort::layers
