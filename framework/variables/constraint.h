#pragma once

#include <memory>
#include <string_view>

#include "cohort/config/configurable.h"
#include "cohort/core/tensor.h"

namespace cohort {

// Projects a weight back into the set it must stay in, after each update.
class Constraint : public Configurable {
 public:
  // Keras's module of this family.
  static constexpr const char* kModule = "keras.constraints";
  // The weight, projected.
  virtual Tensor operator()(const Tensor& weight) const = 0;

  // Every constraint that a string or a file may name.
  static Registry<Constraint>& registry();
  // The constraint registered under this name ("non_neg"), with default arguments; throws NotFound for an unknown one.
  static std::shared_ptr<Constraint> from_name(std::string_view name) { return registry().make(name); }
};

}  // namespace cohort
