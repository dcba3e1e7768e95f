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

  Execution run(std::int64_t first_step, std::int64_t steps) override;
  void read_logs(Logs& logs) override;
  void synchronize() override;
  // Steps that recordings of the devices have begun so far.
  std::int64_t recorded_steps() const { return steps_.recorded_steps(); }

 protected:
  const std::shared_ptr<ReplicaSet> replicas_;
  ReplicaSteps steps_;

 private:
  void run_batch(Execution& execution) override;
  std::int64_t cardinality() const override;

  const bool one_batch_each_;
};

}  // namespace cohort::distribute
