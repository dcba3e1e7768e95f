#include "cohort/model/layer/dtype_policy.h"

#include <mutex>

#include "cohort/core/error.h"
#include "cohort/core/text.h"

namespace cohort {
namespace {

struct Global {
  std::mutex mutex;
  DTypePolicy policy{DType::Float32};
};
// Never destroyed: layers in static storage may be made or destroyed at exit.
Global& global() {
  static Global* global = new Global;
  return *global;
}

}  // namespace

DTypePolicy::DTypePolicy() : DTypePolicy(mixed_precision::global_policy()) {}

DTypePolicy::DTypePolicy(std::string_view name) {
  constexpr std::string_view kMixed = "mixed_";
  if (!name.starts_with(kMixed)) {
    variable_dtype_ = compute_dtype_ = dtype_from_string(std::string(name));
    return;
  }
  if (name != "mixed_float16" && name != "mixed_bfloat16") {
    throw invalid_argument("DTypePolicy", "the name of a type, 'mixed_float16' or 'mixed_bfloat16' is expected",
                           {{"name", in_quotes(name)}});
  }
  variable_dtype_ = DType::Float32;
  compute_dtype_ = dtype_from_string(std::string(name.substr(kMixed.size())));
}

std::string DTypePolicy::name() const {
  return (variable_dtype_ == compute_dtype_ ? "" : "mixed_") + std::string(to_string(compute_dtype_));
}

namespace mixed_precision {

void set_global_policy(const DTypePolicy& policy) {
  std::lock_guard lock(global().mutex);
  global().policy = policy;
}

DTypePolicy global_policy() {
  std::lock_guard lock(global().mutex);
  return global().policy;
}

}  // namespace mixed_precision
}  // namespace cohort
