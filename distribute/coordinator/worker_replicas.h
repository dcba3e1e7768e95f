#pragma once

#include <string>

#include "cohort/variables/replica_context.h"
#include "cohort/variables/variable_body.h"

namespace cohort::distribute {

// The replicas on a worker's devices as the chief sees them: what steps are traced with, in the context of each of
// them. A graph that is run here, on one device with the whole batch, computes the same. Thread-safe.
class WorkerReplicas {
 public:
  // So many on each worker.
  explicit WorkerReplicas(int replicas);
  // What a replica's code asks for.
  const ReplicaContext& context() const { return context_; }
  // How many there are on a worker.
  int size() const { return context_.num_replicas_in_sync(); }

 private:
  const ReplicaContext context_;
};

// Whether a resource is what a worker's replicas meet by, or what each has of its batch.
bool is_worker_collective(const Resource& resource);
bool is_worker_loss_share(const Resource& resource);

}  // namespace cohort::distribute
