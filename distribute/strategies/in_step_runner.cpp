#include "cohort/distribute/strategies/in_step_runner.h"

#include "cohort/core/timeline.h"

namespace cohort::distribute {

InStepRunner::InStepRunner(std::shared_ptr<ReplicaSet> replicas, std::shared_ptr<Program> program,
                           const RunnerData& data, const RunnerOptions& options)
    : LocalRunner(program, data, options, replicas->device(0), {.num_replicas_in_sync = replicas->size()}),
      replicas_(replicas),
      steps_(std::move(replicas), std::move(program)),
      one_batch_each_(data.creator.has_value()) {}

Execution InStepRunner::run(std::int64_t first_step, std::int64_t steps) {
  steps_.expect(steps);
  Execution execution = LocalRunner::run(first_step, steps);
  steps_.flush();
  return execution;
}

void InStepRunner::run_batch(Execution& execution) {
  const TimelineSpan span("compute", "compute", next_step_);
  if (one_batch_each_) {
    steps_.give(0, batch_);
    for (int replica = 1; replica < replicas_->size(); ++replica) {
      steps_.give(replica, next_batch(false) ? batch_ : Tensors());
    }
  } else {
    steps_.divide(batch_);
  }
  Element outputs = steps_.run(dataset_.element_spec(), random_);
  if (predicts()) execution.outputs.push_back(std::move(outputs));
}

std::int64_t InStepRunner::cardinality() const {
  const std::int64_t batches = dataset_.cardinality();
  const std::int64_t replicas = one_batch_each_ ? replicas_->size() : 1;
  return batches < 0 ? batches : (batches + replicas - 1) / replicas;
}

void InStepRunner::synchronize() {
  for (int replica = 0; replica < replicas_->size(); ++replica) replicas_->device(replica).synchronize();
  replicas_->check();
  replicas_->variables().gather();
}

void InStepRunner::read_logs(Logs& logs) {
  synchronize();
  LocalRunner::read_logs(logs);
}

}  // namespace cohort::distribute
