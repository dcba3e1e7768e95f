#pragma once

#include <functional>

#include "cohort/distribute/collective/replica_group.h"
#include "cohort/distribute/collective/replica_threads.h"

namespace cohort::distribute {

// Runs the work of every replica of a group at the same time, that of the first one on the calling thread. Where one
// fails, the others no longer wait for it; throws what went wrong first. One caller at a time.
void run_in_step(ReplicaThreads& threads, ReplicaGroup& group, const std::function<void(int replica)>& work);

}  // namespace cohort::distribute
