#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cohort/callbacks/monitor.h"
#include "cohort/model/fit/callback.h"

namespace cohort::callbacks {

struct ReduceLROnPlateauOptions {
  std::string monitor = "val_loss";
  // What the learning rate is multiplied with, below 1.
  double factor = 0.1;
  // Epochs without improvement after which the rate is reduced.
  std::int64_t patience = 10;
  int verbose = 0;
  std::string mode = "auto";
  // Smallest change that counts as an improvement.
  double min_delta = 1e-4;
  // Epochs after a reduction before waiting begins again.
  std::int64_t cooldown = 0;
  // The rate never falls below this.
  double min_lr = 0.0;
};

class ReduceLROnPlateauCallback : public Callback {
 public:
  explicit ReduceLROnPlateauCallback(ReduceLROnPlateauOptions options);
  void on_train_begin() override;
  void on_epoch_end(std::int64_t epoch, Logs& logs) override;
  BatchHooks batch_hooks() const override { return BatchHooks::None; }
  std::string save_state() const override;
  void restore_state(std::string_view state) override;

  // The best value seen; none before the first.
  std::optional<double> best() const { return best_; }
  // Epochs since the last improvement or reduction.
  std::int64_t wait() const { return wait_; }
  // Epochs of the cooldown that are left.
  std::int64_t cooldown_counter() const { return cooldown_counter_; }

 private:
  bool reduce(std::int64_t epoch);

  ReduceLROnPlateauOptions options_;
  Monitor monitor_;
  std::optional<double> best_;
  std::int64_t wait_ = 0, cooldown_counter_ = 0;
};

// Multiplies the learning rate by `factor` once a figure has not improved for `patience` epochs.
struct ReduceLROnPlateau : Ref<ReduceLROnPlateauCallback> {
  explicit ReduceLROnPlateau(ReduceLROnPlateauOptions options = {});
};

}  // namespace cohort::callbacks
