#pragma once

#include <cstdint>
#include <span>

#include "cohort/core/dtype.h"

namespace cohort::distribute {

// Which of a group's replicas adds up what. Thread-safe: all replicas call it at the same time.
class ReplicaReduction {
 public:
  virtual ~ReplicaReduction() = default;
  // A replica's share of the sum of one value: all shares together fill every output.
  //   inputs: of all replicas, or the first one's alone.   outputs: of all replicas; one may be its own input.
  virtual void reduce(int replica, DType dtype, std::int64_t elements, std::span<const void* const> inputs,
                      std::span<void* const> outputs) const = 0;
};

}  // namespace cohort::distribute
