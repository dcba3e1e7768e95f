#include "cohort/optimizers/replica_gradients.h"

#include <algorithm>

#include "cohort/core/dispatch.h"

namespace cohort {
namespace {

// Backward passes make the gradients of the last layers first; a trace knows what it made when.
std::vector<std::size_t> in_backward_order(const std::vector<Tensor>& gradients) {
  std::vector<std::size_t> order;
  for (std::size_t i = gradients.size(); i-- > 0;) {
    if (gradients[i].defined()) order.push_back(i);
  }
  const auto made_at = [&](std::size_t i) {
    return gradients[i].is_symbolic() ? gradients[i].traced_value().node : std::int32_t{-1};
  };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return made_at(a) < made_at(b); });
  return order;
}

std::int64_t bytes_of_gradient(const Tensor& gradient) {
  const TensorSpec spec = gradient.spec();
  return spec.shape.fully_known() ? spec.shape.num_elements() * static_cast<std::int64_t>(size_of(spec.dtype)) : 0;
}

// The same on all replicas: it follows from the trace.
std::vector<Tensors> cut_into_packs(const Tensors& values, std::int64_t bytes_per_pack) {
  std::vector<Tensors> packs(1);
  std::int64_t bytes = 0;
  for (const Tensor& value : values) {
    if (bytes >= bytes_per_pack) packs.emplace_back(), bytes = 0;
    packs.back().push_back(value);
    bytes += bytes_of_gradient(value);
  }
  return packs;
}

Tensors summed(const ReplicaContext& replica, const Tensors& values) {
  if (values.empty() || replica.bytes_per_pack() == 0 || current_trace() == 0) {
    return replica.all_reduce(ReduceOp::Sum, values);
  }
  Tensors sums;
  for (const Tensors& pack : replica.sum_packs(cut_into_packs(values, replica.bytes_per_pack()))) {
    sums.insert(sums.end(), pack.begin(), pack.end());
  }
  return sums;
}

Gradients summed_over_replicas(const Gradients& gradients) {
  const ReplicaContext* replica = get_replica_context();
  if (!replica) return gradients;
  Tensors dense;
  for (const Gradient& gradient : gradients) dense.push_back(gradient.is_slices() ? Tensor() : gradient.dense());
  const std::vector<std::size_t> order = in_backward_order(dense);
  Tensors values;
  for (const std::size_t i : order) values.push_back(dense[i]);
  const Tensors sums = summed(*replica, values);
  Gradients result = gradients;
  // Rows stay apart: what uses their squares must not see them added up.
  for (Gradient& gradient : result) {
    if (gradient.is_slices()) gradient = replica->among_all(gradient.slices());
  }
  for (std::size_t k = 0; k < order.size(); ++k) result[order[k]] = sums[k];
  return result;
}

}  // namespace

ReplicaGradients::ReplicaGradients(const Gradients& gradients) : summed_(summed_over_replicas(gradients)) {}

}  // namespace cohort
