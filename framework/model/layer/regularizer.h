#pragma once

#include <memory>
#include <string_view>

#include "cohort/config/configurable.h"
#include "cohort/core/tensor.h"

namespace cohort {

// A penalty on a weight or an output: a scalar added to the loss. A user derives and overrides operator().
class Regularizer : public Configurable {
 public:
  // Keras's module of this family.
  static constexpr const char* kModule = "keras.regularizers";
  // The penalty, a scalar.
  virtual Tensor operator()(const Tensor& weight) const = 0;

  // Every regularizer that a string or a file may name.
  static Registry<Regularizer>& registry();
  // The regularizer registered under this name ("l2"), with default arguments; throws NotFound for an unknown one.
  static std::shared_ptr<Regularizer> from_name(std::string_view name) { return registry().make(name); }
};

}  // namespace cohort
