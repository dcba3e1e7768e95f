#pragma once

#include <functional>
#include <string>

#include "cohort/config/configurable.h"
#include "cohort/config/registry.h"
#include "cohort/core/tensor.h"

namespace cohort {

// A function of tensors that files refer to by its registered name, "package>name", as Keras does.
class TensorFunction : public Configurable {
 public:
  // The code, on a list of tensors.
  using Body = std::function<Tensor(const Tensors&)>;
  TensorFunction(std::string name, Body body) : name_(std::move(name)), body_(std::move(body)) {}

  // Empty for one that is not registered.
  const std::string& name() const { return name_; }
  // Calls it.
  Tensor operator()(const Tensors& inputs) const { return body_(inputs); }

  std::string class_name() const override { return name_; }
  std::string module_name() const override { return "builtins"; }  // Keras's module of functions

  // Every function that a file may name.
  static Registry<TensorFunction>& registry();
  // The function registered under this name; throws NotFound for an unknown one.
  static std::shared_ptr<TensorFunction> from_name(std::string_view name) { return registry().make(name); }

 private:
  std::string name_;
  Body body_;
};

// Makes a function known by name, "package>name"; true, so that it can initialize a static variable.
bool register_function(const std::string& name, TensorFunction::Body body);
template <class F>
requires(std::is_invocable_r_v<Tensor, F, const Tensor&>) bool register_function(const std::string& name, F function) {
  return register_function(
      name, TensorFunction::Body([function](const Tensors& inputs) { return Tensor(function(inputs.at(0))); }));
}

// Makes a function of one tensor known by name: it is saved and loaded as "package>name".
#define COHORT_REGISTER_FUNCTION(package, name)                                     \
  [[maybe_unused]] static const bool COHORT_CONCAT(cohort_function_, __COUNTER__) = \
      ::cohort::register_function(std::string(package) + ">" #name, name)

}  // namespace cohort
