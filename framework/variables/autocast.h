#pragma once

#include <optional>

#include "cohort/core/dtype.h"
#include "cohort/core/thread_scope.h"

namespace cohort {

// While one lives, floating variables that allow it are read in this type (layers of mixed precision compute in
// bfloat16 on float32 variables); nullopt: as they are. Thread-local, nested.
using AutocastScope = ThreadScope<struct AutocastTag, std::optional<DType>>;
// The innermost scope's type; none outside of any.
std::optional<DType> current_autocast();

}  // namespace cohort
