#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "cohort/model/callback.h"

namespace cohort::callbacks {

struct BackupAndRestoreOptions {
  std::variant<std::string, std::int64_t> save_freq = std::string("epoch");  // "epoch", or every so many batches
  bool delete_checkpoint = true;                                             // once training has ended
};

// Keeps the state of a training run in a folder, and goes on from it when the same program is started again.
class BackupAndRestoreCallback : public Callback {
 public:
  explicit BackupAndRestoreCallback(std::string backup_dir, BackupAndRestoreOptions options = {});
  ~BackupAndRestoreCallback() override;
  void on_train_begin() override;
  void on_train_batch_end(std::int64_t batch, Logs& logs) override;
  void on_epoch_end(std::int64_t epoch, Logs& logs) override;
  void on_train_end(Logs& logs) override;
  BatchHooks batch_hooks() const override;

 private:
  std::string backup_dir_;
  BackupAndRestoreOptions options_;
};

struct BackupAndRestore : Ref<BackupAndRestoreCallback> {
  explicit BackupAndRestore(std::string backup_dir, BackupAndRestoreOptions options = {})
      : Ref(std::make_shared<BackupAndRestoreCallback>(std::move(backup_dir), std::move(options))) {}
};

}  // namespace cohort::callbacks
