#pragma once

#include <algorithm>

#include "cohort/distribute/collective/replica_reduction.h"
#include "cohort/distribute/collective/summation.h"

namespace cohort::distribute {

// One replica adds up what all of them have, in their order.
class ReductionAtOneReplica : public ReplicaReduction {
 public:
  //   replica: who does.   counting: how many count, the first ones; others only get what comes of it.
  ReductionAtOneReplica(int replica, int counting) : replica_(replica), counting_(static_cast<std::size_t>(counting)) {}

  void reduce(int replica, DType dtype, std::int64_t elements, std::span<const void* const> inputs,
              std::span<void* const> outputs) const override {
    if (replica != replica_) return;
    sum_range(dtype, inputs.first(std::min(counting_, inputs.size())), outputs, 0, elements);
  }

 private:
  const int replica_;
  const std::size_t counting_;
};

}  // namespace cohort::distribute
