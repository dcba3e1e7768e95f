#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>

#include "cohort/model/fit/callback.h"

namespace cohort {
class Checkpoint;
class CheckpointManager;
}  // namespace cohort

namespace cohort::callbacks {

struct BackupAndRestoreOptions {
  std::variant<std::string, std::int64_t> save_freq = std::string("epoch");
  // Keep the backup before the newest, too.
  bool double_checkpoint = false;
  // Remove the backups once training has ended.
  bool delete_checkpoint = true;
};

class BackupAndRestoreCallback : public Callback {
 public:
  explicit BackupAndRestoreCallback(std::string backup_dir, BackupAndRestoreOptions options = {});
  ~BackupAndRestoreCallback() override;
  void on_train_begin() override;
  void on_train_batch_end(std::int64_t batch, Logs& logs) override;
  void on_epoch_end(std::int64_t epoch, Logs& logs) override;
  void on_train_end(Logs& logs) override;
  void on_preemption() override { save(); }
  BatchHooks batch_hooks() const override { return save_every_ > 0 ? BatchHooks::Every : BatchHooks::None; }
  std::int64_t batches_until_quiet() const override;
  bool needs_built_model() const override { return true; }

 private:
  void save();

  std::string backup_dir_;
  BackupAndRestoreOptions options_;
  std::int64_t save_every_ = 0;  // batches; 0: at the end of epochs
  std::int64_t batches_since_saving_ = 0, last_batch_ = -1;
  std::unique_ptr<Checkpoint> checkpoint_;
  std::unique_ptr<CheckpointManager> manager_;  // of the current fit
};

// Keeps the state of a training run in a folder, as checkpoints, and goes on from the newest that is whole when the
// same program is started again: with the same batches, random numbers and figures as if it had never stopped. SIGTERM
// makes it save once more where the run ends. Last in the list of callbacks, it saves what the others did, too.
//   backup_dir: the folder, for one run's use alone.
struct BackupAndRestore : Ref<BackupAndRestoreCallback> {
  explicit BackupAndRestore(std::string backup_dir, BackupAndRestoreOptions options = {});
};

}  // namespace cohort::callbacks
