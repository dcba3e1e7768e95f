#pragma once

#include <memory>
#include <string_view>

#include "cohort/config/configurable.h"
#include "cohort/core/tensor.h"

namespace cohort {

// A penalty on a weight or an output: a scalar added to the loss.
class Regularizer : public Configurable {
 public:
  std::string module_name() const override { return "keras.regularizers"; }
  virtual Tensor operator()(const Tensor& weight) const = 0;

  static Registry<Regularizer>& registry();
  static std::shared_ptr<Regularizer> from_name(std::string_view name) { return registry().make(name); }
};

}  // namespace cohort
