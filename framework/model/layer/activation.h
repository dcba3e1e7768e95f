#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "cohort/config/configurable.h"
#include "cohort/core/tensor.h"

namespace cohort {

// A function a layer applies to its output, found by Keras's name ("relu"). Keras writes it as that name alone.
class Activation : public Configurable {
 public:
  // Keras's module of this family.
  static constexpr const char* kModule = "keras.activations";
  std::string short_name() const override { return class_name(); }
  // The function's value at x; shape and dtype are x's.
  virtual Tensor operator()(const Tensor& x) const = 0;

  // Every activation that a string or a file may name.
  static Registry<Activation>& registry();
  // The activation registered under this name ("relu"); throws NotFound for an unknown one.
  static std::shared_ptr<Activation> from_name(std::string_view name) { return registry().make(name); }
};

}  // namespace cohort
