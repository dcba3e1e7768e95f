#pragma once

#include <vector>

#include "cohort/distribute/collective/replica_group.h"
#include "cohort/variables/replica_context.h"

namespace cohort::distribute {

class ReplicaVariables;

// Runs code of all replicas of one process together on the thread of the first one, while the others wait.
class ReplicaMerge : public ReplicaMerger {
 public:
  //   home: where variables live.
  ReplicaMerge(ReplicaGroup& group, ReplicaVariables& variables, Device& home);

  Tensors merge(int replica, const MergeFunction& merge_fn, const Tensors& values) override;

 private:
  void meet(int replica);
  Tensors run(const MergeFunction& merge_fn) const;

  ReplicaGroup& group_;
  ReplicaVariables& variables_;
  Device& home_;
  std::vector<Tensors> brought_;  // by replica
  Tensors result_;
};

}  // namespace cohort::distribute
