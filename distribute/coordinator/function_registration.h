#pragma once

#include "cohort/distribute/coordinator/placed_function.h"
#include "cohort/distribute/coordinator/task_connections.h"
#include "cohort/distribute/rpc/repeating_stream.h"

namespace cohort::distribute {

// Tell tasks of their parts of a function: each ps that has one, before any worker; a worker when it first runs it, and
// again when it was restarted.
void register_on_ps(const PlacedFunction& function, TaskConnections& connections);
void register_on_worker(const PlacedFunction& function, rpc::RepeatingStream& worker, Head head, SentConstants& sent);

}  // namespace cohort::distribute
