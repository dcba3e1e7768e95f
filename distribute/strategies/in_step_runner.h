#pragma once

#include <memory>

#include "cohort/distribute/strategies/replica_steps.h"
#include "cohort/model/fit/local_runner.h"

namespace cohort::distribute {

// Runs a program's steps on replicas of this process, all on one global batch at a time. A dataset gives global
// batches; what a DatasetCreator makes gives each replica a batch in turn.
class InStepRunner : public LocalRunner {
 public:
  InStepRunner(std::shared_ptr<ReplicaSet> replicas, std::shared_ptr<Program> program, const RunnerData& data,
               const RunnerOptions& options);

  void begin_epoch(std::int64_t epoch) override;
  Execution run(std::int64_t first_step, std::int64_t steps) override;
  void restore(const Position& position) override;
  void read_logs(Logs& logs) override;
  void synchronize() override;
  // Steps that recordings of the devices have begun so far.
  std::int64_t recorded_steps() const { return steps_.recorded_steps(); }

 protected:
  // What each replica has for itself of metrics and moving statistics, as bytes.
  //   counts_once: what was written to all replicas at once is counted here.
  std::string own_values(bool counts_once) const;
  // Gives it back before the first step that goes on, where a backup has it.
  void restore_own_values();
  std::string own_values_;  // of a backup, until the first step

  const std::shared_ptr<ReplicaSet> replicas_;
  ReplicaSteps steps_;

 private:
  void run_batch(Execution& execution) override;
  std::string own_state() const override;
  void restore_own_state(std::string_view state) override;
  std::int64_t cardinality() const override;

  const bool one_batch_each_;
  bool goes_on_mid_epoch_ = false;  // the epoch that begins next was under way when its position was saved
  bool restores_sums_ = false;      // what was summed up then counts in this epoch
};

}  // namespace cohort::distribute
