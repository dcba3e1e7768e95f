#include "cohort/variables/replica_context.h"

#include <utility>

#include "cohort/core/dispatch.h"
#include "cohort/core/text.h"
#include "cohort/graph/bound_captures.h"
#include "cohort/ops/collectives.h"
#include "cohort/ops/math.h"

namespace cohort {

ReplicaContext::ReplicaContext(int replica, int replicas, Tensor collective, Variable loss_share,
                               std::int64_t bytes_per_pack, ReplicaMerger* merger, int local_replica)
    : replica_(replica),
      replicas_(replicas),
      collective_(std::move(collective)),
      loss_share_(std::move(loss_share)),
      bytes_per_pack_(bytes_per_pack),
      merger_(merger),
      local_replica_(local_replica) {}

int ReplicaContext::replica_id_in_sync_group() const {
  if (current_trace() == 0) return replica_;
  throw failed_precondition("ReplicaContext", "code that is traced runs once for all replicas", {},
                            "Ask for the replica's number outside of functions and of a model's steps.");
}

const Tensor& ReplicaContext::collective() const {
  const CaptureBinder* binder = CaptureBinding::current();
  return binder && current_trace() == 0 ? binder->bind(collective_) : collective_;
}

Tensors ReplicaContext::all_reduce(ReduceOp op, const Tensors& values) const {
  if (values.empty()) return {};
  if (op == ReduceOp::Sum) return ops::all_reduce_sum(collective(), values);
  // Counted as they meet: one without a sample may be left out of sums.
  Tensors summands = values;
  summands.push_back(Tensor::scalar(1.0));
  Tensors sums = ops::all_reduce_sum(collective(), summands);
  const Tensor count = sums.back();
  sums.pop_back();
  for (Tensor& sum : sums) {
    const DType type = is_floating(sum.dtype()) ? sum.dtype() : DType::Float32;
    sum = ops::cast(ops::cast(sum, type) / ops::cast(count, type), sum.dtype());
  }
  return sums;
}

Tensor ReplicaContext::all_reduce(ReduceOp op, const Tensor& value) const { return all_reduce(op, Tensors{value})[0]; }

Tensors ReplicaContext::merge_call(const MergeFunction& merge_fn, const Tensors& values) const {
  if (current_trace() == 0 && merger_) return merger_->merge(local_replica_, merge_fn, values);
  throw unimplemented("ReplicaContext.merge_call", "code that is traced runs once for all replicas", {},
                      "Call it outside of functions and of a model's steps, or use all_reduce().");
}

std::vector<Tensors> ReplicaContext::sum_packs(const std::vector<Tensors>& packs) const {
  std::vector<Tensors> sums;
  for (const Tensors& pack : packs) sums.push_back(ops::start_all_reduce_sum(collective(), pack));
  for (Tensors& sum : sums) sum = ops::wait_for_all_reduce(collective(), sum);
  return sums;
}

IndexedSlices ReplicaContext::among_all(IndexedSlices slices) const {
  slices.collective = collective();
  return slices;
}

Tensor ReplicaContext::aggregated(const Variable& variable, const Tensor& value) const {
  switch (variable.aggregation()) {
    case Aggregation::Sum:
      return all_reduce(ReduceOp::Sum, value);
    case Aggregation::Mean:
      return all_reduce(ReduceOp::Mean, value);
    case Aggregation::OnlyFirstReplica:
      return ops::broadcast_first(collective(), {value})[0];
    default:
      throw invalid_argument(titled("Variable", variable.path()),
                             "a variable that replicas write must say how their values become one",
                             {{"aggregation", "None"}}, "Make it with Aggregation::Sum, Mean or OnlyFirstReplica.");
  }
}

Tensor ReplicaContext::loss_share() const { return loss_share_.value(); }

const ReplicaContext* get_replica_context() { return ReplicaScope::current(); }

Tensor scale_loss_for_replica(const Tensor& loss) {
  const ReplicaContext* replica = get_replica_context();
  return replica ? loss * ops::cast(replica->loss_share(), loss.dtype()) : loss;
}

Tensor unscale_loss_for_replica(const Tensor& loss) {
  const ReplicaContext* replica = get_replica_context();
  return replica ? loss / ops::cast(replica->loss_share(), loss.dtype()) : loss;
}

}  // namespace cohort
