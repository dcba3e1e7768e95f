#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "cohort/callbacks/monitor.h"
#include "cohort/model/fit/callback.h"

namespace cohort::callbacks {

struct SidecarEvaluatorEarlyStoppingOptions {
  // A figure of the evaluation; "val_loss" is the same as "loss".
  std::string monitor = "loss";
  // Smallest change that counts as an improvement.
  double min_delta = 0.0;
  // Checkpoints without improvement after which the training is asked to stop.
  std::int64_t patience = 0;
  std::string mode = "auto";
};

class SidecarEvaluatorEarlyStoppingCallback : public Callback {
 public:
  explicit SidecarEvaluatorEarlyStoppingCallback(SidecarEvaluatorEarlyStoppingOptions options);
  void on_test_end(Logs& logs) override;
  BatchHooks batch_hooks() const override { return BatchHooks::None; }
  std::string save_state() const override;
  void restore_state(std::string_view state) override;

  // Checkpoints since the best one, in the order of training.
  std::int64_t wait();

 private:
  const std::int64_t patience_;
  Monitor monitor_;
  std::map<std::int64_t, double> figures_;  // by step
};

// For the callbacks of a SidecarEvaluator: asks the training to stop once a figure has not improved for `patience`
// checkpoints. They count in the order in which they were saved, whichever was evaluated first.
struct SidecarEvaluatorEarlyStopping : Ref<SidecarEvaluatorEarlyStoppingCallback> {
  explicit SidecarEvaluatorEarlyStopping(SidecarEvaluatorEarlyStoppingOptions options = {});
};

}  // namespace cohort::callbacks
