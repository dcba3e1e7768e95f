#include "cohort/distribute/strategies/replica_merge.h"

#include "cohort/core/error.h"
#include "cohort/distribute/strategies/replica_variables.h"
#include "cohort/graph/bound_captures.h"

namespace cohort::distribute {

ReplicaMerge::ReplicaMerge(ReplicaGroup& group, ReplicaVariables& variables, std::span<Device* const> devices,
                           Device& home)
    : group_(group),
      variables_(variables),
      home_(home),
      is_first_(variable_of_each("is_first", Tensor::full({}, 0.0, DType::Bool, home))),
      brought_(static_cast<std::size_t>(group.size())) {
  const Tensor& first = variables_.copy_of(is_first_.handle(), 0);
  ReplicaVariables::set_value(dynamic_cast<LocalVariable&>(*first.resource()),
                              Tensor::full({}, 1.0, DType::Bool, *devices[0]), *devices[0]);
}

// A reduction of nothing: it has deadlines, and ends when a replica fails.
void ReplicaMerge::meet(int replica) {
  const Collective::Part part{DType::Int32, 1};
  std::int32_t nothing = 0;
  const void* const input = &nothing;
  void* const output = &nothing;
  group_.member(replica)->all_reduce({&part, 1}, &input, &output, Collective::Reduction::Sum);
}

Tensors ReplicaMerge::run(const MergeFunction& merge_fn) const {
  std::vector<Tensors> values(brought_[0].size());
  for (std::size_t replica = 0; replica < brought_.size(); ++replica) {
    if (brought_[replica].size() != values.size()) {
      throw invalid_argument(
          "ReplicaContext.merge_call", "every replica must bring as many values",
          {{"replica", replica}, {"values", brought_[replica].size()}, {"values of replica 0", values.size()}});
    }
    for (std::size_t i = 0; i < values.size(); ++i) values[i].push_back(brought_[replica][i]);
  }
  const ReplicaScope of_all(nullptr);
  const CaptureBinding unbound(nullptr);
  const DefaultDeviceScope device(&home_);
  return merge_fn(values);
}

Tensors ReplicaMerge::merge(int replica, const MergeFunction& merge_fn, const Tensors& values) {
  brought_[static_cast<std::size_t>(replica)] = values;
  meet(replica);
  if (replica == 0) {
    variables_.settle();
    variables_.gather();
    result_ = run(merge_fn);
    variables_.spread();
  }
  meet(replica);
  return result_;
}

}  // namespace cohort::distribute
