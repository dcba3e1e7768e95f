#pragma once

#include <functional>
#include <span>

#include "cohort/distribute/collective/replica_group.h"
#include "cohort/distribute/collective/replica_threads.h"

namespace cohort::distribute {

// Runs the work of so many participants at the same time, that of the first one on the calling thread. Where one fails,
// the others no longer wait for it; throws what went wrong first. One caller at a time.
//   threads: at least as many, the caller included.
//   groups: in which they meet.
void run_in_step(ReplicaThreads& threads, std::span<ReplicaGroup* const> groups, int participants,
                 const std::function<void(int participant)>& work);

}  // namespace cohort::distribute
