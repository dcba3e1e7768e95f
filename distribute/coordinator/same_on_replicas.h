#pragma once

#include <vector>

#include "cohort/distribute/coordinator/placed_function.h"

namespace cohort::distribute {

// Throws where replicas on a worker's devices would send a ps values of their own: what is sent, and what is returned
// unless it is joined, must be the same on all of them. Values are that which come of no element, or of a reduction.
void check_same_on_replicas(const PartitionedGraph& parts, const FunctionDescription& description);

}  // namespace cohort::distribute
