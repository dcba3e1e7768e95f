#pragma once

#include <concepts>
#include <functional>

#include "cohort/model/callback.h"

namespace cohort::callbacks {

struct LearningRateSchedulerOptions {
  int verbose = 0;
};

// Sets the learning rate at the beginning of every epoch to what a function makes of (epoch, rate).
class LearningRateSchedulerCallback : public Callback {
 public:
  using Schedule = std::function<double(std::int64_t epoch, double rate)>;
  explicit LearningRateSchedulerCallback(Schedule schedule, LearningRateSchedulerOptions options = {});
  void on_epoch_begin(std::int64_t epoch) override;
  void on_epoch_end(std::int64_t epoch, Logs& logs) override;
  BatchHooks batch_hooks() const override { return BatchHooks::None; }

 private:
  Schedule schedule_;
  LearningRateSchedulerOptions options_;
};

struct LearningRateScheduler : Ref<LearningRateSchedulerCallback> {
  explicit LearningRateScheduler(LearningRateSchedulerCallback::Schedule schedule,
                                 LearningRateSchedulerOptions options = {})
      : Ref(std::make_shared<LearningRateSchedulerCallback>(std::move(schedule), options)) {}
  // Of a function that looks at the epoch alone.
  template <std::invocable<std::int64_t> OfEpoch>
  explicit LearningRateScheduler(OfEpoch schedule, LearningRateSchedulerOptions options = {})
      : LearningRateScheduler(
            LearningRateSchedulerCallback::Schedule(
                [schedule = std::move(schedule)](std::int64_t epoch, double) -> double { return schedule(epoch); }),
            options) {}
};

}  // namespace cohort::callbacks
