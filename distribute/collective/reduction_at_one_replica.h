#pragma once

#include <algorithm>

#include "cohort/core/thread_pool.h"
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
    const std::span<const void* const> counted = inputs.first(std::min(counting_, inputs.size()));
    parallel_for(elements, kElementsOfBlock,
                 [&](std::int64_t begin, std::int64_t end) { sum_range(dtype, counted, outputs, begin, end); });
  }

 private:
  // What is worth a thread; those of the others, who wait, are free.
  static constexpr std::int64_t kElementsOfBlock = 16 << 10;
  const int replica_;
  const std::size_t counting_;
};

}  // namespace cohort::distribute
