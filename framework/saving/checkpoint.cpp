#include "cohort/saving/checkpoint.h"

#include <chrono>
#include <utility>

#include "cohort/core/error.h"
#include "cohort/core/log.h"
#include "cohort/core/text.h"
#include "cohort/files/background_work.h"
#include "cohort/saving/checkpoint/checkpoint_content.h"
#include "cohort/saving/checkpoint/checkpoint_files.h"
#include "cohort/saving/checkpoint_state.h"

namespace cohort {
namespace {

using CheckpointClock = std::chrono::steady_clock;

double seconds_since_1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

struct Checkpoint::Writer {
  SnapshotMemory memory;  // outlives the thread that reads it
  BackgroundWork task{"Checkpoint"};

  // A run that saves faster than the disk writes is slowed down; somebody should know.
  void await_turn(const std::string& path) {
    const auto begin = CheckpointClock::now();
    task.wait();
    const double waited = std::chrono::duration<double>(CheckpointClock::now() - begin).count();
    if (waited < 1.0) return;
    log::warn("Checkpoint: '" + path + "' has waited " + std::to_string(waited) +
              " s until the one before was written. Save less often, or to a faster disk.");
  }
};

Checkpoint::Checkpoint(CheckpointContent content, CheckpointOptions options)
    : content_(std::move(content)), options_(options), writer_(std::make_unique<Writer>()) {
  if (options_.max_shard_bytes < 1) {
    throw invalid_argument("Checkpoint", "max_shard_bytes must be positive",
                           {{"max_shard_bytes", options_.max_shard_bytes}});
  }
}

Checkpoint::~Checkpoint() = default;

bool Checkpoint::async() const { return options_.enable_async; }

std::string Checkpoint::write(const std::string& path, const CheckpointMoment& moment) {
  return write_numbered(path, save_counter_, moment, {});
}

std::string Checkpoint::save(const std::string& file_prefix, const CheckpointMoment& moment) {
  const std::int64_t number = save_counter_ + 1;
  const std::string path = file_prefix + "-" + std::to_string(number);
  write_numbered(path, number, moment, [path] { note_latest_checkpoint(path); });
  return path;
}

std::string Checkpoint::write_numbered(const std::string& path, std::int64_t number, const CheckpointMoment& moment,
                                       std::function<void()> written) {
  if (path.empty() || path.back() == '/') {
    throw invalid_argument("Checkpoint", "the path must name a checkpoint in a folder", {{"path", in_quotes(path)}});
  }
  writer_->await_turn(path);
  const auto max_bytes = static_cast<std::uint64_t>(options_.max_shard_bytes);
  CheckpointSnapshot snapshot =
      take_snapshot(checkpoint_items(content_, moment), max_bytes, async() ? &writer_->memory : nullptr);
  snapshot.index.number = number;
  snapshot.index.time = seconds_since_1970();
  if (const Ref<Optimizer> optimizer = checkpointed_optimizer(content_); optimizer && optimizer->built()) {
    snapshot.index.optimizer = optimizer->class_name();
  }
  if (async()) {
    auto kept = std::make_shared<CheckpointSnapshot>(std::move(snapshot));
    writer_->task.start([kept, path, written = std::move(written)] {
      write_checkpoint_files(*kept, path);
      if (written) written();
    });
  } else {
    write_checkpoint_files(snapshot, path);
    if (written) written();
  }
  save_counter_ = number;
  return path;
}

RestoredCheckpoint Checkpoint::read(const std::string& path, RestoreOptions options) {
  sync();
  const CheckpointIndex index = read_checkpoint_index(path);
  CheckpointRestoration restoration(content_, index, path, options);
  const Tensors values = read_checkpoint_values(index, path);
  RestoredCheckpoint restored{.path = path, .number = index.number};
  restoration.apply(values, options, restored);
  return restored;
}

RestoredCheckpoint Checkpoint::restore(const std::string& path, RestoreOptions options) {
  RestoredCheckpoint restored = read(path, options);
  save_counter_ = restored.number;
  return restored;
}

void Checkpoint::sync() { writer_->task.wait(); }

}  // namespace cohort
