#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "cohort/distribute/strategies/multi_worker_mirrored_strategy.h"
#include "cohort/model/fit/callback.h"
#include "tests/support/in_step_jobs.h"

namespace cohort::test {

// What one of several processes in step does: words "name=value", of which "task" names its code.
class TaskInStep {
 public:
  explicit TaskInStep(const std::string& words);
  std::string text(const std::string& name, const std::string& otherwise = {}) const;
  double number(const std::string& name, double otherwise) const;
  int rank() const { return static_cast<int>(number("rank", 0)); }
  // Whether this process is the one that the others differ from.
  bool is_odd_one() const { return rank() == static_cast<int>(number("odd", 1)); }
  // Of TF_CONFIG, with the words' implementation, device, dead_after, start_timeout, transport and address.
  distribute::MultiWorkerMirroredStrategy strategy() const;

 private:
  std::map<std::string, std::string> values_;
};

// Makes code known to the processes under a name.
struct KnownTaskInStep {
  KnownTaskInStep(const char* name, std::function<void(const TaskInStep&)> code);
};

// What ended code; "no error" where nothing did.
std::string what_ended(const std::function<void()>& code);

// Does something at the end of a batch of training, counted over all epochs from 1.
class AtBatch : public Callback {
 public:
  AtBatch(std::int64_t batch, std::function<void(Model&)> act) : batch_(batch), act_(std::move(act)) {}
  void on_train_batch_end(std::int64_t, Logs&) override {
    if (++seen_ == batch_) act_(model());
  }

 private:
  const std::int64_t batch_;
  std::int64_t seen_ = 0;
  const std::function<void(Model&)> act_;
};

// A result as a file, and back.
void write_result(const TrainedInStep& result, const std::string& file = "result");
TrainedInStep read_result(const std::string& file);

}  // namespace cohort::test
