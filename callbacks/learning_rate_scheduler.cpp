#include "cohort/callbacks/learning_rate_scheduler.h"

#include <cstdio>

#include "cohort/callbacks/formatting.h"
#include "cohort/core/error.h"
#include "cohort/model/model.h"

namespace cohort::callbacks {

LearningRateSchedulerCallback::LearningRateSchedulerCallback(Schedule schedule, LearningRateSchedulerOptions options)
    : schedule_(std::move(schedule)), options_(options) {
  if (!schedule_)
    throw invalid_argument("LearningRateScheduler", "schedule must be a function", {{"schedule", "empty"}});
}

void LearningRateSchedulerCallback::on_epoch_begin(std::int64_t epoch) {
  const double rate = schedule_(epoch, model().optimizer()->learning_rate());
  model().optimizer()->set_learning_rate(rate);
  if (options_.verbose > 0) {
    std::printf("\nEpoch %lld: LearningRateScheduler setting learning rate to %s.\n", static_cast<long long>(epoch + 1),
                python_number(rate).c_str());
  }
}

void LearningRateSchedulerCallback::on_epoch_end(std::int64_t, Logs& logs) {
  logs.set("learning_rate", model().optimizer()->learning_rate());
}

}  // namespace cohort::callbacks
