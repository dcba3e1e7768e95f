#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cohort/callbacks/monitor.h"
#include "cohort/model/fit/callback.h"

namespace cohort::callbacks {

struct ReduceLROnPlateauOptions {
  std::string monitor = "val_loss";
  double factor = 0.1;
  std::int64_t patience = 10;
  int verbose = 0;
  std::string mode = "auto";
  double min_delta = 1e-4;
  std::int64_t cooldown = 0;
  double min_lr = 0.0;
};

// Multiplies the learning rate by `factor` once a figure has not improved for `patience` epochs.
class ReduceLROnPlateauCallback : public Callback {
 public:
  explicit ReduceLROnPlateauCallback(ReduceLROnPlateauOptions options);
  void on_train_begin() override;
  void on_epoch_end(std::int64_t epoch, Logs& logs) override;
  BatchHooks batch_hooks() const override { return BatchHooks::None; }
  std::string save_state() const override;
  void restore_state(std::string_view state) override;

  std::optional<double> best() const { return best_; }
  std::int64_t wait() const { return wait_; }
  std::int64_t cooldown_counter() const { return cooldown_counter_; }

 private:
  bool reduce(std::int64_t epoch);

  ReduceLROnPlateauOptions options_;
  Monitor monitor_;
  std::optional<double> best_;
  std::int64_t wait_ = 0, cooldown_counter_ = 0;
};

struct ReduceLROnPlateau : Ref<ReduceLROnPlateauCallback> {
  explicit ReduceLROnPlateau(ReduceLROnPlateauOptions options = {})
      : Ref(std::make_shared<ReduceLROnPlateauCallback>(std::move(options))) {}
};

}  // namespace cohort::callbacks
