#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cohort/saving/checkpoint.h"
#include "cohort/saving/checkpoint_state.h"

namespace cohort {

// What a CheckpointManager keeps and when it saves.
struct CheckpointManagerOptions {
  // Checkpoints that stay, the newest ones; none: all.
  std::optional<std::int64_t> max_to_keep = 5;
  // Of those that would go, one in this many hours stays for good; none: all go.
  std::optional<double> keep_checkpoint_every_n_hours = std::nullopt;
  // First part of the files' names.
  std::string checkpoint_name = "ckpt";
  // What counts the steps for checkpoint_interval.
  Variable step_counter = {};
  // save() does something only when the counter has advanced this many steps; none: every time.
  std::optional<std::int64_t> checkpoint_interval = std::nullopt;
  std::function<void()> init_fn = {};  // what restore_or_initialize() does when there is nothing to restore
};

// Keeps the last checkpoints of a run in a folder of its own: "<directory>/<checkpoint_name>-<number>", a file
// "checkpoint" that lists them, and nothing that a killed process has left. Used by one thread; one manager a folder.
class CheckpointManager {
 public:
  // The checkpoint must outlive the manager.
  CheckpointManager(Checkpoint& checkpoint, std::string directory, CheckpointManagerOptions options = {});
  // Waits for what is being written; what went wrong with it is logged.
  ~CheckpointManager();
  CheckpointManager(const CheckpointManager&) = delete;

  // Saves under the next number, or that one, and removes what is no longer to be kept. Nothing when the interval has
  // not passed.
  std::optional<std::string> save(const CheckpointMoment& moment = {},
                                  std::optional<std::int64_t> checkpoint_number = std::nullopt,
                                  bool check_interval = true);
  // Restores the newest checkpoint that is whole; each newer one that is not is named in a warning. Without any, calls
  // init_fn and returns nothing; when there are some but none is whole, throws DataLoss. One of another model throws
  // FailedPrecondition.
  std::optional<RestoredCheckpoint> restore_or_initialize(RestoreOptions options = {});
  // Takes all checkpoints away, the newest last, and the folder where nothing else is in it.
  void clear();
  // Waits until all is on the disk, and throws what went wrong while it was written.
  void sync() { checkpoint_.sync(); }

  // The newest one written.
  std::optional<std::string> latest_checkpoint() const;
  // All that may yet be removed, from oldest to newest.
  std::vector<std::string> checkpoints() const;
  // The folder.
  const std::string& directory() const { return directory_; }
  // What it saves.
  Checkpoint& checkpoint() { return checkpoint_; }

 private:
  class Folder;
  bool interval_passed(bool check_interval);

  Checkpoint& checkpoint_;
  std::string directory_;
  CheckpointManagerOptions options_;
  std::shared_ptr<Folder> folder_;  // shared with what is being written
  std::optional<std::int64_t> last_checkpoint_step_;
};

}  // namespace cohort
