#include "cohort/callbacks/stop_from_evaluator.h"

#include <unistd.h>

#include <chrono>

#include "cohort/core/error.h"
#include "cohort/core/log.h"
#include "cohort/files/training_marks.h"
#include "cohort/model/fit/run_control.h"
#include "cohort/model/model.h"

namespace cohort::callbacks {

StopFromEvaluatorCallback::StopFromEvaluatorCallback(std::string checkpoint_dir)
    : checkpoint_dir_(std::move(checkpoint_dir)) {
  if (checkpoint_dir_.empty()) {
    throw invalid_argument("StopFromEvaluator", "checkpoint_dir must name a folder", {{"checkpoint_dir", "''"}});
  }
}

void StopFromEvaluatorCallback::on_epoch_begin(std::int64_t epoch) {
  // Not when training begins: a backup is restored after that, by another callback.
  if (began_) return;
  began_ = true;
  remove_mark(checkpoint_dir_, TrainingMark::Finished);
  if (epoch == 0) remove_mark(checkpoint_dir_, TrainingMark::StopRequest);
}

void StopFromEvaluatorCallback::on_epoch_end(std::int64_t, Logs&) {
  const auto reason = mark_in(checkpoint_dir_, TrainingMark::StopRequest);
  if (!reason) return;
  log::info("StopFromEvaluator: training stops, " + *reason);
  model().stop_training = true;
}

void StopFromEvaluatorCallback::on_train_end(Logs&) {
  if (run().interrupted()) return;
  const auto now = std::chrono::system_clock::now().time_since_epoch().count();
  leave_mark(checkpoint_dir_, TrainingMark::Finished, std::to_string(now) + " by process " + std::to_string(getpid()));
}

StopFromEvaluator::StopFromEvaluator(std::string checkpoint_dir)
    : Ref(std::make_shared<StopFromEvaluatorCallback>(std::move(checkpoint_dir))) {}

}  // namespace cohort::callbacks
