#pragma once

#include "cohort/distribute/collective/replica_reduction.h"

namespace cohort::distribute {

// Neighbours are added up first, then their sums, and so on: as a tree of copies between devices does. Each replica
// does that for a range of every value.
class PairwiseReduction : public ReplicaReduction {
 public:
  void reduce(int replica, DType dtype, std::int64_t elements, std::span<const void* const> inputs,
              std::span<void* const> outputs) const override;
};

}  // namespace cohort::distribute
