#pragma once

#include "cohort/distribute/collective/communicator.h"
#include "cohort/distribute/strategies/replica_set.h"
#include "cohort/graph/trace.h"

namespace cohort {
class Model;
}

namespace cohort::distribute {

// Checks that all workers have traced the same step, and gives its variables the values of the first one.
void begin_in_step(collective::Communicator& workers, ReplicaSet& replicas, const TracedGraph& step);
// Makes what a model and its metrics sum up, or average, on reading that of all workers. Every worker must call it.
void gather_over_workers(collective::Communicator& workers, ReplicaSet& replicas, Model& model);

}  // namespace cohort::distribute
