#include "cohort/callbacks/backup_and_restore.h"

#include <optional>

#include "cohort/core/error.h"
#include "cohort/core/log.h"
#include "cohort/model/fit/run_control.h"
#include "cohort/model/fit/strategy.h"
#include "cohort/model/model.h"
#include "cohort/saving/checkpoint_manager.h"

namespace cohort::callbacks {
namespace {

constexpr const char* kBackup = "BackupAndRestore";

std::int64_t checked_backup_frequency(const std::variant<std::string, std::int64_t>& frequency) {
  constexpr const char* kExpected = "save_freq must be 'epoch' or a number of batches";
  if (const auto* name = std::get_if<std::string>(&frequency)) {
    if (*name != "epoch") throw invalid_argument(kBackup, kExpected, {{"save_freq", *name}});
    return 0;
  }
  const std::int64_t batches = std::get<std::int64_t>(frequency);
  if (batches < 1) throw invalid_argument(kBackup, kExpected, {{"save_freq", batches}});
  return batches;
}

// Backups of something else: no fault of theirs, but nothing to go on from.
Error unfit_backup(const std::string& folder, const Error& problem) {
  return Error(problem.code(), kBackup,
               "a backup of the run that goes on is expected: the same model over the same data",
               {{"backup_dir", folder}, {"problem", problem.what()}}, "Remove the folder to train from the beginning.");
}

}  // namespace

BackupAndRestoreCallback::BackupAndRestoreCallback(std::string backup_dir, BackupAndRestoreOptions options)
    : backup_dir_(std::move(backup_dir)), options_(std::move(options)) {
  if (backup_dir_.empty()) throw invalid_argument(kBackup, "backup_dir must name a folder", {{"backup_dir", "''"}});
  save_every_ = checked_backup_frequency(options_.save_freq);
}

BackupAndRestoreCallback::~BackupAndRestoreCallback() = default;

std::int64_t BackupAndRestoreCallback::batches_until_quiet() const {
  return save_every_ > 0 ? save_every_ - batches_since_saving_ : 0;
}

void BackupAndRestoreCallback::on_train_begin() {
  batches_since_saving_ = 0;
  last_batch_ = -1;
  manager_.reset();
  checkpoint_ = std::make_unique<Checkpoint>(CheckpointContent{.model = &model()});
  manager_ = std::make_unique<CheckpointManager>(
      *checkpoint_, backup_dir_,
      CheckpointManagerOptions{.max_to_keep = options_.double_checkpoint ? 2 : 1, .checkpoint_name = "backup"});
  const auto go_on = [this](const RestoredCheckpoint& backup) {
    if (!backup.position) throw failed_precondition(kBackup, "a backup says how far training had come");
    run().restore(*backup.position);
  };
  std::optional<RestoredCheckpoint> backup;
  try {
    backup = manager_->restore_or_initialize({.accept = go_on});
  } catch (const Error& error) {
    throw unfit_backup(backup_dir_, error);
  }
  if (!backup) return;
  last_batch_ = backup->position->step - 1;
  log::info(std::string(kBackup) + ": training goes on from '" + backup_dir_ + "' in epoch " +
            std::to_string(backup->position->epoch + 1) + " after " + std::to_string(backup->position->step) +
            " batches.");
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
  const Position position = run().position();  // for which workers in step need one another
  if (model().strategy()->is_chief()) manager_->save({.position = position});
}

void BackupAndRestoreCallback::on_train_end(Logs&) {
  if (options_.delete_checkpoint && !run().interrupted() && model().strategy()->is_chief()) {
    try {
      manager_->clear();
    } catch (const Error& error) {
      log::warn(std::string(kBackup) + ": the backup of a finished training cannot be removed. Received: backup_dir=" +
                backup_dir_ + ", problem=" + error.what() + " Remove it, or the next training goes on from it.");
    }
  }
  manager_.reset();
  checkpoint_.reset();
}

BackupAndRestore::BackupAndRestore(std::string backup_dir, BackupAndRestoreOptions options)
    : Ref(std::make_shared<BackupAndRestoreCallback>(std::move(backup_dir), std::move(options))) {}

}  // namespace cohort::callbacks
