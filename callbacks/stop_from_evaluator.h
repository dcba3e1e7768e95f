#pragma once

#include <cstdint>
#include <string>

#include "cohort/model/fit/callback.h"

namespace cohort::callbacks {

class StopFromEvaluatorCallback : public Callback {
 public:
  explicit StopFromEvaluatorCallback(std::string checkpoint_dir);
  void on_train_begin() override { began_ = false; }
  void on_epoch_begin(std::int64_t epoch) override;
  void on_epoch_end(std::int64_t epoch, Logs& logs) override;
  void on_train_end(Logs& logs) override;
  BatchHooks batch_hooks() const override { return BatchHooks::None; }
  bool for_chief_only() const override { return true; }

 private:
  std::string checkpoint_dir_;
  bool began_ = false;
};

// Connects a training with the SidecarEvaluator beside it, without ever waiting for it: fit stops after an epoch when
// the evaluator has asked for that, and the evaluator hears when fit is over, so that it ends, too. A fit that begins
// with its first epoch takes away what an earlier one has left; one that goes on from a backup does not.
//   checkpoint_dir: the folder that the evaluator looks at.
struct StopFromEvaluator : Ref<StopFromEvaluatorCallback> {
  explicit StopFromEvaluator(std::string checkpoint_dir);
};

}  // namespace cohort::callbacks
