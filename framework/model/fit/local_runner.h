#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "cohort/core/device.h"
#include "cohort/model/fit/program.h"
#include "cohort/model/fit/step_runner.h"
#include "cohort/model/fit/strategy.h"

namespace cohort {

// Runs a program's steps in this process, one after the other, on the default device.
class LocalRunner : public StepRunner {
 public:
  LocalRunner(std::shared_ptr<Program> program, const RunnerData& data, const RunnerOptions& options);

  void build() override;
  void begin_epoch(std::int64_t epoch) override;
  Execution run(std::int64_t first_step, std::int64_t steps) override;
  Logs end_epoch() override;
  void synchronize() override { device_->synchronize(); }
  Position position() const override;
  void restore(const Position& position) override;
  std::optional<std::int64_t> steps() const override;
  void read_logs(std::int64_t ticket, Logs& logs) override;
  void measure_work() override { measures_ = true; }
  EpochWork work() const override;

 private:
  void build_eagerly();
  bool carries_on() const;
  void rewind();
  bool next_batch(bool first_of_epoch);
  bool measured_next_batch(bool first_of_epoch);
  void run_batch(Execution& execution);

  std::shared_ptr<Program> program_;
  Dataset dataset_;
  RunnerOptions options_;
  Device* device_;
  RandomState random_;
  std::unique_ptr<DatasetIterator> walker_;
  bool fresh_ = true;                // the walker stands before its first element
  bool goes_on_ = false;             // the next epoch begins where the walker stands
  bool resumes_ = false;             // it is one that was under way when its position was saved
  const StepGraph* step_ = nullptr;  // the program's
  Tensors batch_, inputs_, outputs_;
  std::int64_t next_step_ = 0;
  bool measures_ = false;
  std::int64_t examples_ = 0;  // of this epoch
  std::chrono::steady_clock::duration waiting_{};
};

}  // namespace cohort
