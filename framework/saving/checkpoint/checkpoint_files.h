#pragma once

#include <string>
#include <vector>

#include "cohort/core/tensor.h"
#include "cohort/saving/checkpoint/checkpoint_snapshot.h"

// The files of a checkpoint called `path`: "<path>.index", which makes it one once it is there, and
// "<path>.data-<id>-<number>-of-<count>". Not installed.
namespace cohort {

// Writes all files; until the last moment an older checkpoint of that name stays what it was. On an error nothing of
// the new one is left.
void write_checkpoint_files(CheckpointSnapshot& snapshot, const std::string& path);

// The index, checked; NotFound when there is none, DataLoss when it is damaged.
CheckpointIndex read_checkpoint_index(const std::string& path);
// The values of all entries, in order; DataLoss unless each checksum fits.
Tensors read_checkpoint_values(const CheckpointIndex& index, const std::string& path);

// Takes a checkpoint away: first the index, so that no half of one is ever there.
void remove_checkpoint_files(const std::string& path);
// Removes what a killed writer has left in a folder of checkpoints called "<name>-<number>": temporary files, and data
// without an index.
void remove_unfinished_checkpoints(const std::string& folder, const std::string& name);

}  // namespace cohort
