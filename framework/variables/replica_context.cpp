#include "cohort/variables/replica_context.h"

#include <utility>

#include "cohort/core/dispatch.h"
#include "cohort/graph/bound_captures.h"
#include "cohort/ops/array.h"
#include "cohort/ops/collectives.h"
#include "cohort/ops/math.h"
#include "cohort/variables/variable_body.h"

namespace cohort {
namespace {

constexpr const char* kMergeCall = "ReplicaContext.merge_call";

using MergeScope = ThreadScope<struct MergeTag, const ReplicaContext*>;

}  // namespace

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
  if (!merger_) {
    throw unimplemented(kMergeCall,
                        "replicas must have variables of their own, and the devices of one worker share them", {},
                        "Use all_reduce().");
  }
  Tensors results =
      current_trace() == 0 ? merger_->merge(local_replica_, merge_fn, values) : merge_in_trace(merge_fn, values);
  // Tapes of the replica that ran the code would see what those of the others do not.
  for (Tensor& result : results) {
    if (result.defined() && is_floating(result.dtype())) result = ops::stop_gradient(result);
  }
  return results;
}

Tensors ReplicaContext::merge_in_trace(const MergeFunction& merge_fn, const Tensors& values) const {
  if (traced_merge()) throw failed_precondition(kMergeCall, "code of all replicas cannot call code of all replicas");
  for (const Tensor& value : values) {
    if (value.dtype() != DType::String && value.dtype() != DType::Resource) continue;
    throw invalid_argument(kMergeCall, "in a function and in a model's step values must be numbers or truth values",
                           {{"value", value.spec()}}, "Bring what the strings have become, such as indices.");
  }
  const std::vector<Tensors> of_all = gathered(values);
  const MergeScope together(this);
  const ReplicaScope no_replica(nullptr);
  return merge_fn(of_all);
}

// A replica that is alone has nothing to wait for.
std::vector<Tensors> ReplicaContext::gathered(const Tensors& values) const {
  if (merger_->replicas() > 1) return ops::gather_replicas(collective(), values, merger_->replicas());
  std::vector<Tensors> own;
  for (const Tensor& value : values) own.push_back({value});
  return own;
}

Tensor ReplicaContext::made_together(const Variable& variable, const Tensor& own) const {
  const Aggregation aggregation = variable.aggregation();
  if (aggregation == Aggregation::None) throw lacks_aggregation(*variable.body());
  const Tensors copies = gathered({own})[0];
  Tensor sum = copies[0];
  if (aggregation == Aggregation::OnlyFirstReplica) return sum;
  for (std::size_t i = 1; i < copies.size(); ++i) sum = sum + copies[i];
  if (aggregation == Aggregation::Sum) return sum;
  return ops::cast(sum / static_cast<double>(copies.size()), own.dtype());
}

// What is summed up on reading counts once.
Tensor ReplicaContext::part_of(const Variable& variable, const Tensor& whole) const {
  if (variable.aggregation() != Aggregation::Sum || merger_->replicas() == 1) return whole;
  const MergeScope of_each(nullptr);
  return ops::where(merger_->is_first().value(), whole, 0.0);
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
      throw lacks_aggregation(*variable.body());
  }
}

Tensor ReplicaContext::loss_share() const { return loss_share_.value(); }

const ReplicaContext* get_replica_context() { return ReplicaScope::current(); }

const ReplicaContext* traced_merge() { return current_trace() != 0 ? MergeScope::current() : nullptr; }

Tensor scale_loss_for_replica(const Tensor& loss) {
  const ReplicaContext* replica = get_replica_context();
  return replica ? loss * ops::cast(replica->loss_share(), loss.dtype()) : loss;
}

Tensor unscale_loss_for_replica(const Tensor& loss) {
  const ReplicaContext* replica = get_replica_context();
  return replica ? loss / ops::cast(replica->loss_share(), loss.dtype()) : loss;
}

}  // namespace cohort
