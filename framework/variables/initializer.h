#pragma once

#include <memory>
#include <string_view>

#include "cohort/config/configurable.h"
#include "cohort/core/tensor.h"

namespace cohort {

// Makes a variable's initial value.
class Initializer : public Configurable {
 public:
  std::string module_name() const override { return "keras.initializers"; }
  // Runs eagerly; called outside every trace.
  virtual Tensor operator()(const Shape& shape, DType dtype) const = 0;

  static Registry<Initializer>& registry();
  static std::shared_ptr<Initializer> from_name(std::string_view name) { return registry().make(name); }
};

}  // namespace cohort
