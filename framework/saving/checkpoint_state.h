#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cohort {

// What the file "checkpoint" in a folder of checkpoints says. Names are relative to the folder.
struct CheckpointState {
  struct Entry {
    std::string name = {};
    double time = 0.0;  // seconds since 1970
  };
  std::string latest = {};
  std::vector<Entry> all = {};  // those that are managed, oldest first
  double last_preserved = 0.0;
};

// Nothing when there is none, or when it cannot be understood, which is logged.
std::optional<CheckpointState> read_checkpoint_state(const std::string& folder);
void write_checkpoint_state(const std::string& folder, const CheckpointState& state);
// Takes the file away.
void remove_checkpoint_state(const std::string& folder);
// Makes a checkpoint its folder's latest.
void note_latest_checkpoint(const std::string& path);

// The newest checkpoint of a folder, to be given to Checkpoint::restore; nothing when there is none. Where the state
// file is missing or names one that is gone, the one with the highest number counts.
std::optional<std::string> latest_checkpoint(const std::string& folder);
// Names of all checkpoints in a folder that are called "<name>-<number>" (any name when empty), by number.
std::vector<std::string> checkpoints_in(const std::string& folder, const std::string& name = {});
// The number at the end of a checkpoint's name; -1 when there is none.
std::int64_t checkpoint_number(const std::string& name);

}  // namespace cohort
