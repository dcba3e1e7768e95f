#pragma once

#include <chrono>
#include <string>

#include "cohort/data/stage_stats.h"
#include "cohort/model/fit/callback.h"

namespace cohort::callbacks {

struct ThroughputOptions {
  int verbose = 1;  // 0: only in the logs
};

class ThroughputCallback : public Callback {
 public:
  explicit ThroughputCallback(ThroughputOptions options = {}) : options_(options) {}
  void on_train_begin() override;
  void on_epoch_begin(std::int64_t epoch) override;
  void on_test_begin() override;
  void on_epoch_end(std::int64_t epoch, Logs& logs) override;
  BatchHooks batch_hooks() const override { return BatchHooks::None; }

 private:
  using Clock = std::chrono::steady_clock;
  void note_end();
  // The stage of the data that took the most time in this epoch; empty where that is not known.
  std::string slowest_in_epoch() const;

  ThroughputOptions options_;
  Clock::time_point begin_{};
  double seconds_ = 0.0;  // of training in this epoch; 0 while it runs
  DatasetStats before_;   // of the data when the epoch began
};

// Says after every epoch how fast it trained, validation left out: one line, and the figures steps_per_second,
// examples_per_second and data_wait (the share of the time spent waiting for data) in the logs. The line names the
// stage of the data that took the most time. All but the first only where batches are seen by this process; nothing is
// asked of the steps but two looks at the clock.
struct Throughput : Ref<ThroughputCallback> {
  explicit Throughput(ThroughputOptions options = {});
};

}  // namespace cohort::callbacks
