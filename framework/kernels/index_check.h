#pragma once

#include <cstdint>
#include <string>

#include "cohort/core/error.h"

namespace cohort {

// The error of an index (number `position` of its tensor) that does not lie in [0, size).
[[noreturn]] inline void throw_bad_index(const char* op, std::int64_t position, std::int64_t index, std::int64_t size) {
  throw invalid_argument(op, "indices must lie in [0, " + std::to_string(size) + ")",
                         {{"indices[" + std::to_string(position) + "]", index}});
}

// The same of a row of a variable that is to be added to.
[[noreturn]] inline void throw_bad_row(std::int64_t position, std::int64_t row, std::int64_t rows) {
  throw invalid_argument("Variable.scatter_add", "indices must be rows of the variable",
                         {{"indices[" + std::to_string(position) + "]", row}, {"rows", rows}});
}

template <class Index>
std::int64_t checked_index(const char* op, const Index* indices, std::int64_t position, std::int64_t size) {
  const auto index = static_cast<std::int64_t>(indices[position]);
  if (index < 0 || index >= size) throw_bad_index(op, position, index, size);
  return index;
}

}  // namespace cohort
