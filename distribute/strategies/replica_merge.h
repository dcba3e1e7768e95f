#pragma once

#include <span>
#include <vector>

#include "cohort/distribute/collective/replica_group.h"
#include "cohort/variables/replica_context.h"

namespace cohort::distribute {

class ReplicaVariables;

// Runs code of all replicas of one process together on the thread of the first one, while the others wait.
class ReplicaMerge : public ReplicaMerger {
 public:
  //   devices: of the replicas.   home: where variables live.
  ReplicaMerge(ReplicaGroup& group, ReplicaVariables& variables, std::span<Device* const> devices, Device& home);

  int replicas() const override { return group_.size(); }
  const Variable& is_first() const override { return is_first_; }
  Tensors merge(int replica, const MergeFunction& merge_fn, const Tensors& values) override;
  // Returns when all replicas have come.
  void meet(int replica);

 private:
  Tensors run(const MergeFunction& merge_fn) const;

  ReplicaGroup& group_;
  ReplicaVariables& variables_;
  Device& home_;
  const Variable is_first_;
  std::vector<Tensors> brought_;  // by replica
  Tensors result_;
};

}  // namespace cohort::distribute
