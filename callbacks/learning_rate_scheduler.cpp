#include "cohort/callbacks/learning_rate_scheduler.h"

#include <cstdio>
#include <utility>

#include "cohort/callbacks/formatting.h"
#include "cohort/callbacks/gathered_state.h"
#include "cohort/core/error.h"
#include "cohort/model/model.h"

namespace cohort::callbacks {

LearningRateSchedulerCallback::LearningRateSchedulerCallback(Schedule schedule, LearningRateSchedulerOptions options)
    : schedule_(std::move(schedule)), options_(options) {
  if (!schedule_)
    throw invalid_argument("LearningRateScheduler", "schedule must be a function", {{"schedule", "empty"}});
}

void LearningRateSchedulerCallback::on_epoch_begin(std::int64_t epoch) {
  // An epoch that goes on has its rate: made of that one, the next would be another.
  if (std::exchange(scheduled_epoch_, epoch) == epoch) return;
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

std::string LearningRateSchedulerCallback::save_state() const {
  std::string state;
  StateWriter writer(state);
  write_count(writer, scheduled_epoch_);
  return state;
}

void LearningRateSchedulerCallback::restore_state(std::string_view state) {
  StateReader reader(state);
  scheduled_epoch_ = read_count(reader);
  reader.finish();
}

LearningRateScheduler::LearningRateScheduler(LearningRateSchedulerCallback::Schedule schedule,
                                             LearningRateSchedulerOptions options)
    : Ref(std::make_shared<LearningRateSchedulerCallback>(std::move(schedule), options)) {}

}  // namespace cohort::callbacks
