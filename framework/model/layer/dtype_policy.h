#pragma once

#include <string>
#include <string_view>

#include "cohort/core/dtype.h"

namespace cohort {

// The types a layer works with: what its variables hold and what it computes in. Names are Keras's: "float32",
// "bfloat16", "mixed_bfloat16" (bfloat16 computation on float32 variables), ...
class DTypePolicy {
 public:
  // The global policy.
  DTypePolicy();
  // One type for variables and computation.
  DTypePolicy(DType dtype) : variable_dtype_(dtype), compute_dtype_(dtype) {}
  // By Keras's name: that of a type, "mixed_float16" or "mixed_bfloat16".
  DTypePolicy(std::string_view name);
  DTypePolicy(const char* name) : DTypePolicy(std::string_view(name)) {}
  DTypePolicy(const std::string& name) : DTypePolicy(std::string_view(name)) {}

  // Keras's name.
  std::string name() const;
  // The type variables hold.
  DType variable_dtype() const { return variable_dtype_; }
  // The type inputs are cast to and layers compute in.
  DType compute_dtype() const { return compute_dtype_; }

  friend bool operator==(const DTypePolicy&, const DTypePolicy&) = default;

 private:
  DType variable_dtype_, compute_dtype_;
};

namespace mixed_precision {

// The policy of layers that are made from now on and say nothing else; "float32" at first. Thread-safe.
void set_global_policy(const DTypePolicy& policy);
// The policy of layers that say nothing else.
DTypePolicy global_policy();

}  // namespace mixed_precision
}  // namespace cohort
