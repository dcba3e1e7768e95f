#pragma once

#include <memory>
#include <string>

#include "cohort/model/fit/program.h"
#include "cohort/model/fit/step_runner.h"

namespace cohort {

// What runners have in common: the place in the run, the random state that goes with it, and the figures. A runner says
// how its data is begun, saved and restored.
class RunnerBase : public StepRunner {
 public:
  void begin_epoch(std::int64_t epoch) override;
  Logs end_epoch() override;
  Position position() const override;
  void restore(const Position& position) override;
  std::optional<std::int64_t> steps() const override;
  void read_logs(Logs& logs) override;
  // Of a runner whose run() returns when the work is done.
  StepsDone wait_until_done(std::int64_t, std::chrono::milliseconds) override { return {.steps = next_step_}; }

 protected:
  RunnerBase(std::shared_ptr<Program> program, const RunnerOptions& options);

  // Batches of one pass over the data; negative when infinite or unknown.
  virtual std::int64_t cardinality() const = 0;
  // Stands before an epoch's first batch: where the epoch before stopped if it `continues` and batches are left, else
  // at the beginning of the data.
  virtual void begin_data(bool continues) = 0;
  // Where the data stands, as bytes; empty before it has begun.
  virtual std::string save_data() const = 0;
  virtual void restore_data(const std::string& state) = 0;

  bool predicts() const { return program_->kind() == Program::Kind::Predict; }

  const std::shared_ptr<Program> program_;
  RandomState random_;
  std::int64_t next_step_ = 0;

 private:
  RunnerOptions options_;
  bool resumes_epoch_ = false;  // the epoch that begins next is one that was in flight when its position was saved
};

}  // namespace cohort
