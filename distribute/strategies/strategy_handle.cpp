#include "cohort/distribute/strategies/strategy_handle.h"

#include "cohort/core/device_spec.h"
#include "cohort/core/dispatch.h"
#include "cohort/core/error.h"
#include "cohort/graph/trace.h"
#include "cohort/ops/joining.h"
#include "cohort/ops/math.h"
#include "cohort/ops/reduce.h"

namespace cohort::distribute {

ReplicaValue::operator Tensor() const {
  if (is_leaf()) return leaf();
  throw invalid_argument("Strategy.run", "an argument that is a single tensor is expected",
                         {{"argument", to_string(spec_of(*this))}},
                         "Take its members: strategy.run(step, batch[0], batch[1]).");
}

PerReplica PerReplica::operator[](std::size_t i) const {
  std::vector<Element> members;
  for (const Element& value : values_) {
    if (i >= value.size()) {
      throw Error(ErrorCode::OutOfRange, "PerReplica", "the number of a member is expected",
                  {{"member", i}, {"members", value.size()}});
    }
    members.push_back(value[i]);
  }
  return PerReplica(std::move(members), rows_);
}

std::vector<std::int64_t> StrategyHandle::rows_of(const std::vector<const PerReplica*>& arguments) const {
  for (const PerReplica* argument : arguments) {
    if (!argument->rows().empty()) return argument->rows();
  }
  return std::vector<std::int64_t>(static_cast<std::size_t>(body_->num_local_replicas()), 1);
}

Tensors StrategyHandle::experimental_local_results(const PerReplica& value) const {
  Tensors results;
  for (int replica = 0; replica < body_->num_local_replicas(); ++replica) results.push_back(value.value(replica));
  return results;
}

// There is one value, which stands for those of all replicas.
Tensor StrategyHandle::reduce_in_trace(ReduceOp op, Tensor value, std::optional<int> axis) const {
  const ReplicaContext* replica = body_->replica_context();
  const auto over_replicas = [&](const Tensor& each) {
    return replica ? replica->all_reduce(ReduceOp::Sum, each) : each;
  };
  Tensor count = Tensor::scalar(static_cast<double>(num_replicas_in_sync()), DType::Float64);
  if (axis) {
    count = over_replicas(ops::size_of(value, {*axis}, DType::Float64));
    value = ops::sum(value, {*axis});
  }
  const Tensor total = over_replicas(value);
  return op == ReduceOp::Mean ? ops::cast(total / ops::cast(count, total.dtype()), total.dtype()) : total;
}

namespace {

Tensor reduced(ReduceOp op, const Tensors& values, std::optional<int> axis) {
  Tensor total, count;
  for (Tensor part : values) {
    Tensor elements = Tensor::scalar(1.0, DType::Float64);
    if (axis) {
      elements = ops::size_of(part, {*axis}, DType::Float64);
      part = ops::sum(part, {*axis});
    }
    total = total.defined() ? total + part : part;
    count = count.defined() ? count + elements : elements;
  }
  return op == ReduceOp::Mean ? ops::cast(total / ops::cast(count, total.dtype()), total.dtype()) : total;
}

// What reduces values line by line does so on the host.
class OnHost {
 public:
  OnHost() : host_(DeviceSpec::from_string("CPU:0")) {}
  Tensors take(Tensors values) const {
    for (Tensor& value : values) value = value.to_host();
    return values;
  }

 private:
  const EagerScope eager_;
  const DeviceScope host_;
};

}  // namespace

// In traced code of merge_call there are values of all replicas, in the graph.
Tensor StrategyHandle::reduce(ReduceOp op, const PerReplica& value, std::optional<int> axis) const {
  if (traced_merge()) return reduced(op, experimental_local_results(value), axis);
  if (current_trace() != 0) return reduce_in_trace(op, value.value(0), axis);
  const OnHost host;
  return reduced(op, host.take(experimental_local_results(value)), axis);
}

Tensor StrategyHandle::gather(const PerReplica& value, int axis) const {
  if (traced_merge()) return ops::concatenate(experimental_local_results(value), axis);
  const OnHost host;
  return ops::concatenate(host.take(experimental_local_results(value)), axis);
}

DistributedDataset StrategyHandle::experimental_distribute_dataset(const Dataset& dataset) const {
  return DistributedDataset(dataset, body_->num_local_replicas(), /*one_batch_each=*/false);
}

DistributedDataset StrategyHandle::distribute_datasets_from_function(
    const DatasetCreator::DatasetFn& dataset_fn) const {
  const DatasetCreator creator(dataset_fn);
  return DistributedDataset(creator({.num_replicas_in_sync = num_replicas_in_sync()}), body_->num_local_replicas(),
                            /*one_batch_each=*/true);
}

}  // namespace cohort::distribute
