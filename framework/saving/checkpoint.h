#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cohort/data/iterator.h"
#include "cohort/model/fit/run_control.h"
#include "cohort/model/model.h"
#include "cohort/variables/variable.h"

namespace cohort {

// Whose state a checkpoint holds. Everything named must outlive it.
struct CheckpointContent {
  Model* model = nullptr;                          // its weights; with a position in an epoch its metrics, too
  Ref<Optimizer> optimizer = nullptr;              // left out: the one the model is compiled with
  std::map<std::string, Variable> variables = {};  // others, by a name of one's own
  std::map<std::string, Iterator> iterators = {};  // where they stand
};

// How a Checkpoint writes.
struct CheckpointOptions {
  // save() and write() return as soon as the values are copied; a thread writes them. One at a time: the next waits.
  bool enable_async = false;
  // Larger checkpoints are cut into files of at most that many bytes.
  std::int64_t max_shard_bytes = std::int64_t{1} << 30;
};

// What is saved beside the content: where a fit stands, and anything else as bytes.
struct CheckpointMoment {
  // Where a fit stands; none: not in a fit.
  std::optional<Position> position = std::nullopt;
  // Anything else, as bytes by name.
  std::map<std::string, std::string> values = {};
};

// What was restored, and what came with it.
struct RestoredCheckpoint {
  // Path of the checkpoint, without ".index".
  std::string path;
  // Its number.
  std::int64_t number = 0;
  // Where the fit stood.
  std::optional<Position> position = std::nullopt;
  // The other bytes that were saved.
  std::map<std::string, std::string> values = {};
  // With expect_partial: what the content has and the checkpoint lacks.
  std::vector<std::string> missing = {};
  // With expect_partial: what the checkpoint has and the content lacks.
  std::vector<std::string> unused = {};
};

// What restoring takes besides the path.
struct RestoreOptions {
  // What only the checkpoint or only the content has is left alone instead of being an error.
  bool expect_partial = false;
  // Sees what is about to be restored, and may throw before the first value changes.
  std::function<void(const RestoredCheckpoint&)> accept = {};
};

// Saves and restores a training's state under names that follow from the model's structure, whatever the strategy: a
// variable saved from some shards is restored onto any number of them. Call it at a quiet point, from one thread.
class Checkpoint {
 public:
  // Of this content, which must outlive it.
  explicit Checkpoint(CheckpointContent content, CheckpointOptions options = {});
  // Waits for what is being written; an error nobody has seen yet is logged.
  ~Checkpoint();
  Checkpoint(const Checkpoint&) = delete;

  // Writes the checkpoint `path`: an index, "<path>.index", and data files beside it. An older one of that name stays
  // whole until the new one is. Returns the path.
  std::string write(const std::string& path, const CheckpointMoment& moment = {});
  // The same as "<file_prefix>-<number>", counted up, and notes it as its folder's latest.
  std::string save(const std::string& file_prefix, const CheckpointMoment& moment = {});
  // Puts back what was written. All of it is read, and checked against its checksums and the content, before the first
  // value changes: damage throws DataLoss, a checkpoint of something else FailedPrecondition listing what differs.
  RestoredCheckpoint read(const std::string& path, RestoreOptions options = {});
  // The same, and counts on from the checkpoint's number.
  RestoredCheckpoint restore(const std::string& path, RestoreOptions options = {});
  // Waits until all is on the disk, and throws what went wrong while it was written.
  void sync();

  // The number of the last checkpoint saved or restored.
  std::int64_t save_counter() const { return save_counter_; }
  // Whether a thread writes.
  bool async() const;

  // write() for managers: with the checkpoint's number, and a call once it is there, on the thread that writes.
  std::string write_numbered(const std::string& path, std::int64_t number, const CheckpointMoment& moment,
                             std::function<void()> written);

 private:
  struct Writer;
  CheckpointContent content_;
  CheckpointOptions options_;
  std::int64_t save_counter_ = 0;
  std::unique_ptr<Writer> writer_;
};

}  // namespace cohort
