#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <type_traits>
#include <typeinfo>

#include "cohort/config/registry.h"
#include "cohort/core/concat.h"

namespace cohort {

// Keeps the names that objects of a class give as theirs: Configurable::class_name() and module_name() ask for them.
// The first registration of a class counts.
void remember_class_name(const std::type_info& type, const std::string& name, const std::string& module);

// Registers a class in its family under a name and aliases, and remembers the name; COHORT_REGISTER calls it.
template <class Family, class Class>
bool register_class(std::initializer_list<const char*> names) {
  std::string module;
  if constexpr (requires { Family::kModule; }) module = Family::kModule;
  remember_class_name(typeid(Class), *names.begin(), module);
  for (const std::string name : names) {
    Family::registry().add(name, [name]() -> std::shared_ptr<Family> {
      if constexpr (std::is_default_constructible_v<Class>) {
        return std::make_shared<Class>();
      } else {
        throw unimplemented(name, "a class made by its name needs a constructor without arguments");
      }
    });
  }
  return true;
}

// Makes a class known to its family (Layer, Loss, Metric, Optimizer, LearningRateSchedule, Initializer, Regularizer,
// Constraint, Activation) by the name that files use, "Dense", or a user's class by "package>Name"; aliases may follow:
//   COHORT_REGISTER(ch::Loss, PinballLoss, "mine>PinballLoss", "pinball");
// At namespace scope in a source. Objects are made by the constructor without arguments, then read their config.
#define COHORT_REGISTER(Family, Class, ...)                                           \
  [[maybe_unused]] static const bool COHORT_CONCAT(cohort_registered_, __COUNTER__) = \
      ::cohort::register_class<Family, Class>({__VA_ARGS__})

}  // namespace cohort
