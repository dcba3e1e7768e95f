#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cohort/core/dtype.h"
#include "cohort/core/error.h"
#include "cohort/core/shape.h"

// What the index file of a checkpoint says; the format is described in docs/checkpoints.md. Not installed.
namespace cohort {

// Elements [first, first + count) of a tensor in row-major order, and where their bytes lie.
struct CheckpointPart {
  std::uint64_t first = 0, count = 0;
  std::uint64_t file = 0;  // number in CheckpointIndex::files
  std::uint64_t offset = 0, bytes = 0;
  std::uint32_t checksum = 0;  // CRC-32C
};

struct CheckpointEntry {
  std::string name = {};  // "model/layers/dense/vars/0"
  std::string path = {};  // the variable's own, for people
  DType dtype = DType::Float32;
  Shape shape = {};
  std::vector<CheckpointPart> parts = {};  // all of its elements, in order
};

struct CheckpointDataFile {
  std::string name = {};
  std::uint64_t bytes = 0;
};

struct CheckpointIndex {
  std::string id = {};  // of this writing, part of the data files' names
  std::int64_t number = 0;
  double time = 0.0;           // of saving, seconds since 1970
  std::string optimizer = {};  // its class; empty for none
  std::vector<CheckpointDataFile> files = {};
  std::vector<CheckpointEntry> entries = {};

  const CheckpointEntry* find(std::string_view name) const;
};

// The index as text with its checksum, and back. Text that is anything but a whole index that fits together throws
// DataLoss, naming `file`.
std::string format_checkpoint_index(const CheckpointIndex& index);
CheckpointIndex parse_checkpoint_index(std::string_view text, const std::string& file);

Error damaged_checkpoint(const std::string& file, std::string_view problem);

}  // namespace cohort
