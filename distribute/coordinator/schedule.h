#pragma once

#include "cohort/distribute/coordinator/closure_queue.h"
#include "cohort/distribute/coordinator/remote_value.h"

namespace cohort::distribute {

// Queues a closure; its outputs arrive in the value once `done` has accepted them.
RemoteValue schedule(ClosureQueue& queue, Closure closure);

}  // namespace cohort::distribute
