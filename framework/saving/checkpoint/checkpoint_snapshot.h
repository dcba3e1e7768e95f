#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cohort/core/tensor.h"
#include "cohort/saving/checkpoint/checkpoint_index.h"
#include "cohort/variables/variable.h"

// The values of one moment on their way into a checkpoint. Not installed.
namespace cohort {

// Host memory for copies of values, kept from one checkpoint to the next.
class SnapshotMemory {
 public:
  SnapshotMemory() = default;
  ~SnapshotMemory();
  SnapshotMemory(const SnapshotMemory&) = delete;
  // At least that many bytes; what was in it is lost when it has to grow.
  char* reserve(std::size_t bytes);

 private:
  char* data_ = nullptr;
  std::size_t bytes_ = 0;
};

// A tensor to be saved: its shards' values on the host, one after the other.
struct SnapshotItem {
  std::string name, path;
  TensorSpec spec;
  Tensors shards;
};

SnapshotItem snapshot_item(std::string name, const Variable& variable);
SnapshotItem snapshot_item(std::string name, std::string_view bytes);

// Values and where each part of them goes. The index lacks names of files and checksums, which writing adds.
struct CheckpointSnapshot {
  CheckpointIndex index;
  std::vector<const char*> sources;  // of every part of every entry, in order
  Tensors held;                      // keep the sources alive

  std::uint64_t bytes() const;
};

// Lays items out in files of at most `max_file_bytes`, cutting those that are larger. With `memory`, values that
// somebody may yet change are copied into it, on all cores; without, the snapshot shares the memory of variables and
// must be gone before they are written again.
CheckpointSnapshot take_snapshot(std::vector<SnapshotItem> items, std::uint64_t max_file_bytes, SnapshotMemory* memory);

}  // namespace cohort
