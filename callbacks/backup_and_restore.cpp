#include "cohort/callbacks/backup_and_restore.h"

#include <filesystem>

#include "cohort/core/error.h"
#include "cohort/core/log.h"
#include "cohort/model/model.h"
#include "cohort/model/run_control.h"
#include "cohort/saving/training_state.h"

namespace cohort::callbacks {
namespace {

namespace fs = std::filesystem;

constexpr const char* kWho = "BackupAndRestore";
constexpr const char* kFile = "latest.weights.h5";  // Keras's name for it

std::int64_t checked_frequency(const std::variant<std::string, std::int64_t>& frequency) {
  constexpr const char* kExpected = "save_freq must be 'epoch' or a number of batches";
  if (const auto* name = std::get_if<std::string>(&frequency)) {
    if (*name != "epoch") throw invalid_argument(kWho, kExpected, {{"save_freq", *name}});
    return 0;
  }
  const std::int64_t batches = std::get<std::int64_t>(frequency);
  if (batches < 1) throw invalid_argument(kWho, kExpected, {{"save_freq", batches}});
  return batches;
}

bool exists(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

void move(const std::string& from, const std::string& to) {
  std::error_code problem;
  fs::rename(from, to, problem);
  if (!problem) return;
  throw Error(ErrorCode::ResourceExhausted, kWho, "a file of the backup must be renamed",
              {{"from", from}, {"to", to}, {"error", problem.message()}});
}

}  // namespace

BackupAndRestoreCallback::BackupAndRestoreCallback(std::string backup_dir, BackupAndRestoreOptions options)
    : backup_dir_(std::move(backup_dir)), options_(std::move(options)) {
  if (backup_dir_.empty()) throw invalid_argument(kWho, "backup_dir must name a folder", {{"backup_dir", "''"}});
  save_every_ = checked_frequency(options_.save_freq);
  latest_ = (fs::path(backup_dir_) / kFile).string();
  previous_ = latest_ + ".bkp";
}

BatchHooks BackupAndRestoreCallback::batch_hooks() const {
  return save_every_ > 0 ? BatchHooks::Bare : BatchHooks::None;
}

void BackupAndRestoreCallback::on_train_begin() {
  batches_since_saving_ = 0;
  last_batch_ = -1;
  remove_unfinished();
  const std::optional<Position> position = load();
  if (!position) return;
  try {
    run().restore(*position);
  } catch (const Error& error) {
    throw failed_precondition(kWho, "the backup must be of the run that goes on: the same model over the same data",
                              {{"backup_dir", backup_dir_}, {"problem", error.what()}},
                              "Remove the folder to train from the beginning.");
  }
  last_batch_ = position->step - 1;
  log::info(std::string(kWho) + ": training goes on from '" + backup_dir_ + "' in epoch " +
            std::to_string(position->epoch + 1) + " after " + std::to_string(position->step) + " batches.");
}

std::optional<Position> BackupAndRestoreCallback::load() {
  const bool has_previous = exists(previous_);
  if (exists(latest_)) {
    try {
      return read_training_state(model(), latest_);
    } catch (const Error& error) {
      if (!has_previous) {
        throw Error(ErrorCode::DataLoss, kWho, "a backup that this model can go on from is expected",
                    {{"backup_dir", backup_dir_}, {"problem", error.what()}},
                    "Remove the folder to train from the beginning.");
      }
      log::warn(std::string(kWho) + ": the backup before the last one is used. " + error.what());
      move(previous_, latest_);
      return read_training_state(model(), latest_);
    }
  }
  if (!has_previous) return std::nullopt;
  return read_training_state(model(), previous_);
}

void BackupAndRestoreCallback::on_train_batch_end(std::int64_t batch, Logs&) {
  if (save_every_ == 0) return;
  // A hook may come for several batches at once.
  batches_since_saving_ += batch <= last_batch_ ? batch + 1 : batch - last_batch_;
  last_batch_ = batch;
  if (batches_since_saving_ >= save_every_) save();
}

void BackupAndRestoreCallback::on_epoch_end(std::int64_t, Logs&) {
  if (save_every_ == 0) save();
}

void BackupAndRestoreCallback::save() {
  batches_since_saving_ = 0;
  const Position position = run().position();
  if (options_.double_checkpoint && exists(latest_)) move(latest_, previous_);
  write_training_state(model(), position, latest_);
}

void BackupAndRestoreCallback::on_train_end(Logs&) {
  if (!options_.delete_checkpoint || run().interrupted()) return;
  std::error_code problem;
  // In this order: what a kill in between leaves is newer, not older, than what was removed.
  fs::remove(previous_, problem);
  if (fs::remove(latest_, problem); problem) {
    log::warn(std::string(kWho) + ": the backup of a finished training cannot be removed. Received: backup_dir=" +
              backup_dir_ + ", error=" + problem.message() + ". Remove it, or the next training goes on from it.");
  }
  fs::remove(backup_dir_, problem);  // unless something else is in it
}

// What a process that was killed while writing left behind.
void BackupAndRestoreCallback::remove_unfinished() const {
  std::error_code problem;
  for (const fs::directory_entry& entry : fs::directory_iterator(backup_dir_, problem)) {
    if (entry.path().filename().string().starts_with(std::string(kFile) + ".tmp.")) {
      std::error_code ignored;
      fs::remove(entry.path(), ignored);
    }
  }
}

}  // namespace cohort::callbacks
