#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cohort/callbacks/monitor.h"
#include "cohort/core/tensor.h"
#include "cohort/model/fit/callback.h"

namespace cohort::callbacks {

struct EarlyStoppingOptions {
  std::string monitor = "val_loss";
  // Smallest change that counts as an improvement.
  double min_delta = 0.0;
  // Epochs without improvement after which training stops.
  std::int64_t patience = 0;
  int verbose = 0;
  std::string mode = "auto";
  // Value the figure must beat for the wait to start over; none: its best so far.
  std::optional<double> baseline = std::nullopt;
  // Put back the weights of the best epoch when training ends.
  bool restore_best_weights = false;
  // First epoch that is looked at, counted from 0.
  std::int64_t start_from_epoch = 0;
};

class EarlyStoppingCallback : public Callback {
 public:
  explicit EarlyStoppingCallback(EarlyStoppingOptions options);
  void on_train_begin() override;
  void on_epoch_end(std::int64_t epoch, Logs& logs) override;
  void on_train_end(Logs& logs) override;
  BatchHooks batch_hooks() const override { return BatchHooks::None; }
  std::string save_state() const override;
  void restore_state(std::string_view state) override;

  // The best value seen; none before the first.
  std::optional<double> best() const { return best_; }
  // The epoch it was seen in, counted from 0.
  std::int64_t best_epoch() const { return best_epoch_; }
  // The epoch training was stopped after, counted from 0; 0 when it was not.
  std::int64_t stopped_epoch() const { return stopped_epoch_; }
  // Epochs since the last improvement.
  std::int64_t wait() const { return wait_; }

 private:
  EarlyStoppingOptions options_;
  Monitor monitor_;
  std::optional<double> best_;
  std::int64_t best_epoch_ = 0, stopped_epoch_ = 0, wait_ = 0;
  std::vector<Tensor> best_weights_;
};

// Stops fit once a figure has not improved for `patience` epochs.
struct EarlyStopping : Ref<EarlyStoppingCallback> {
  explicit EarlyStopping(EarlyStoppingOptions options = {});
};

}  // namespace cohort::callbacks
