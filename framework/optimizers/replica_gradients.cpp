#include "cohort/optimizers/replica_gradients.h"

namespace cohort {
namespace {

// Backward passes make the gradients of the last layers first.
Gradients summed_over_replicas(const Gradients& gradients) {
  const ReplicaContext* replica = get_replica_context();
  if (!replica) return gradients;
  Tensors values;
  for (std::size_t i = gradients.size(); i-- > 0;) {
    if (gradients[i].defined()) values.push_back(gradients[i].dense());
  }
  const Tensors sums = replica->all_reduce(ReduceOp::Sum, values);
  Gradients result = gradients;
  std::size_t next = 0;
  for (std::size_t i = gradients.size(); i-- > 0;) {
    if (gradients[i].defined()) result[i] = sums[next++];
  }
  return result;
}

}  // namespace

ReplicaGradients::ReplicaGradients(const Gradients& gradients) : summed_(summed_over_replicas(gradients)) {}

}  // namespace cohort
