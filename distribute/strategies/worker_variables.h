#pragma once

#include <memory>
#include <vector>

#include "cohort/distribute/collective/communicator.h"
#include "cohort/distribute/strategies/replica_set.h"
#include "cohort/graph/trace.h"

namespace cohort {
class Model;
}

namespace cohort::distribute {

// Metrics, moving statistics and the like, which every replica has for itself. All workers list them in the same order.
std::vector<std::shared_ptr<LocalVariable>> variables_apart(Model& model);
// Those that a step reads or writes.
std::vector<std::shared_ptr<LocalVariable>> variables_of(const TracedGraph& step);
// Gives variables the values of the first worker. Every worker must call it, for the same ones.
void take_first_values(collective::Communicator& workers, ReplicaSet& replicas,
                       const std::vector<std::shared_ptr<LocalVariable>>& variables);
// Makes what a model and its metrics sum up, or average, on reading that of all workers. Every worker must call it.
void gather_over_workers(collective::Communicator& workers, ReplicaSet& replicas, Model& model);

}  // namespace cohort::distribute
