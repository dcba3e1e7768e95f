#pragma once

#include <memory>
#include <string_view>

#include "cohort/config/configurable.h"
#include "cohort/core/tensor.h"

namespace cohort {

// Makes a variable's initial value. A user derives and overrides operator().
class Initializer : public Configurable {
 public:
  // Keras's module of this family.
  static constexpr const char* kModule = "keras.initializers";
  // A tensor of this shape and type. Runs eagerly; called outside every trace.
  virtual Tensor operator()(const Shape& shape, DType dtype) const = 0;

  // Every initializer that a string or a file may name.
  static Registry<Initializer>& registry();
  // The initializer registered under this name ("glorot_uniform"), with default arguments; throws NotFound for an
  // unknown one.
  static std::shared_ptr<Initializer> from_name(std::string_view name) { return registry().make(name); }
};

}  // namespace cohort
