#pragma once

#include <concepts>
#include <functional>
#include <string>
#include <string_view>

#include "cohort/model/fit/callback.h"

namespace cohort::callbacks {

struct LearningRateSchedulerOptions {
  int verbose = 0;
};

class LearningRateSchedulerCallback : public Callback {
 public:
  // The new rate from the epoch, counted from 0, and the rate so far.
  using Schedule = std::function<double(std::int64_t epoch, double rate)>;
  explicit LearningRateSchedulerCallback(Schedule schedule, LearningRateSchedulerOptions options = {});
  void on_train_begin() override { scheduled_epoch_ = -1; }
  void on_epoch_begin(std::int64_t epoch) override;
  void on_epoch_end(std::int64_t epoch, Logs& logs) override;
  BatchHooks batch_hooks() const override { return BatchHooks::None; }
  std::string save_state() const override;
  void restore_state(std::string_view state) override;

 private:
  Schedule schedule_;
  LearningRateSchedulerOptions options_;
  std::int64_t scheduled_epoch_ = -1;  // the last one whose rate is set
};

// Sets the learning rate at the beginning of every epoch to what a function makes of it.
//   schedule: the new rate from (epoch, rate), or from the epoch alone; epochs count from 0.
struct LearningRateScheduler : Ref<LearningRateSchedulerCallback> {
  explicit LearningRateScheduler(LearningRateSchedulerCallback::Schedule schedule,
                                 LearningRateSchedulerOptions options = {});
  // Of a function that looks at the epoch alone.
  template <std::invocable<std::int64_t> OfEpoch>
  explicit LearningRateScheduler(OfEpoch schedule, LearningRateSchedulerOptions options = {})
      : LearningRateScheduler(
            LearningRateSchedulerCallback::Schedule(
                [schedule = std::move(schedule)](std::int64_t epoch, double) -> double { return schedule(epoch); }),
            options) {}
};

}  // namespace cohort::callbacks
