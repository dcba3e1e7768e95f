#pragma once

#include "cohort/core/op.h"
#include "cohort/variables/replica_context.h"

namespace cohort {

// The sums of gradients over all replicas in step. While it lives its thread is the code of all replicas together: each
// of them makes the same update. Outside of replicas it holds the gradients as they are.
class ReplicaGradients {
 public:
  explicit ReplicaGradients(const Gradients& gradients);
  const Gradients& summed() const { return summed_; }

 private:
  const Gradients summed_;
  const ReplicaScope together_{nullptr};
};

}  // namespace cohort
