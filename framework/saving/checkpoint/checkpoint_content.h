#pragma once

#include <string>
#include <vector>

#include "cohort/saving/checkpoint.h"
#include "cohort/saving/checkpoint/checkpoint_index.h"
#include "cohort/saving/checkpoint/checkpoint_snapshot.h"

// What of a training goes into a checkpoint under which name. Not installed.
namespace cohort {

// The optimizer named, else the model's; may be empty.
Ref<Optimizer> checkpointed_optimizer(const CheckpointContent& content);

// Everything to be saved, read now.
std::vector<SnapshotItem> checkpoint_items(const CheckpointContent& content, const CheckpointMoment& moment);

// Makes what the content restores from a checkpoint in two steps: the constructor looks whether it fits, and throws
// FailedPrecondition listing what does not; apply() changes values.
class CheckpointRestoration {
 public:
  CheckpointRestoration(const CheckpointContent& content, const CheckpointIndex& index, const std::string& path,
                        const RestoreOptions& options);
  // `values` are those of the index's entries.
  void apply(const Tensors& values, const RestoreOptions& options, RestoredCheckpoint& restored);

 private:
  struct Match {
    std::size_t entry;
    Variable variable;
  };
  void match_variable(const std::string& name, const Variable& variable);
  void match_bytes(const std::string& name);
  void match_optimizer();
  void match_metrics();

  const CheckpointContent& content_;
  const CheckpointIndex& index_;
  std::vector<bool> used_;
  std::vector<Match> matches_;
  std::vector<std::string> missing_, unused_, different_;
};

}  // namespace cohort
