#pragma once

#include <optional>

#include "cohort/core/dtype.h"

namespace cohort {

// While one lives, floating variables that allow it are read in this type (layers of mixed precision compute in
// bfloat16 on float32 variables); nullopt: as they are. Thread-local, nested.
class AutocastScope {
 public:
  explicit AutocastScope(std::optional<DType> dtype);
  ~AutocastScope();
  AutocastScope(const AutocastScope&) = delete;

 private:
  std::optional<DType> before_;
};
// The innermost scope's type; none outside of any.
std::optional<DType> current_autocast();

}  // namespace cohort
