#pragma once

#include <cstdint>

#include "cohort/graph/graph.h"

namespace cohort::distribute {

// Of all values together.
inline std::uint64_t constant_bytes(const ConstantTable& constants) {
  std::uint64_t bytes = 0;
  for (const auto& [hash, value] : constants.tensors) bytes += value.bytes();
  return bytes;
}

}  // namespace cohort::distribute
