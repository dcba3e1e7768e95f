#include "cohort/distribute/strategies/in_step_runner.h"

#include <cstring>
#include <utility>

#include "cohort/core/timeline.h"
#include "cohort/data/iterator_state.h"
#include "cohort/distribute/strategies/worker_variables.h"
#include "cohort/model/model.h"

namespace cohort::distribute {

InStepRunner::InStepRunner(std::shared_ptr<ReplicaSet> replicas, std::shared_ptr<Program> program,
                           const RunnerData& data, const RunnerOptions& options)
    : LocalRunner(program, data, options, replicas->home(), {.num_replicas_in_sync = replicas->size()}),
      replicas_(replicas),
      steps_(std::move(replicas), std::move(program)),
      one_batch_each_(data.creator.has_value()) {}

void InStepRunner::begin_epoch(std::int64_t epoch) {
  restores_sums_ = std::exchange(goes_on_mid_epoch_, false);
  LocalRunner::begin_epoch(epoch);
}

void InStepRunner::restore(const Position& position) {
  LocalRunner::restore(position);
  goes_on_mid_epoch_ = position.mid_epoch();
}

std::string InStepRunner::own_values(bool counts_once) const {
  std::string values;
  for (const std::shared_ptr<LocalVariable>& variable : variables_apart(program_->model())) {
    for (int replica = 0; replica < replicas_->size(); ++replica) {
      const auto copy = replicas_->variables().own_copy(*variable, replica);
      const Tensor value = (copy ? copy->shared_value() : variable->shared_value()).to_host();
      const std::string_view bytes(static_cast<const char*>(value.raw()), value.bytes());
      const bool counts = copy || variable->options().aggregation != Aggregation::Sum || (replica == 0 && counts_once);
      values += counts ? std::string(bytes) : std::string(bytes.size(), '\0');
    }
  }
  return values;
}

// Sums and means of all replicas are there already; with the parts that they are made of, the run goes on to the bit.
void InStepRunner::restore_own_values() {
  if (own_values_.empty()) return;
  replicas_->variables().spread();
  std::string_view left = own_values_;
  for (const std::shared_ptr<LocalVariable>& variable : variables_apart(program_->model())) {
    const Tensor handle = Tensor::of_resource(variable);
    for (int replica = 0; replica < replicas_->size(); ++replica) {
      replicas_->variables().copy_of(handle, replica);
      Tensor value = variable->shared_value().to_host().clone();
      if (left.size() < value.bytes()) {
        throw Error(ErrorCode::DataLoss, "Replicas in step", "a backup holds the values of replicas");
      }
      std::memcpy(value.raw(), left.data(), value.bytes());
      left.remove_prefix(value.bytes());
      if (variable->options().aggregation == Aggregation::Sum && !restores_sums_) continue;
      const auto copy = replicas_->variables().own_copy(*variable, replica);
      if (copy) copy->replace_value(value.to(replicas_->device(replica)).clone());
    }
  }
  own_values_.clear();
}

std::string InStepRunner::own_state() const {
  std::string state;
  StateWriter writer(state);
  writer.number(static_cast<std::uint64_t>(replicas_->size()));
  writer.bytes(own_values(/*counts_once=*/true));
  return state;
}

// With another number of replicas what they make together goes on.
void InStepRunner::restore_own_state(std::string_view state) {
  StateReader reader(state);
  const bool as_many = reader.number() == static_cast<std::uint64_t>(replicas_->size());
  const std::string_view values = reader.bytes();
  reader.finish();
  if (as_many) own_values_ = values;
}

Execution InStepRunner::run(std::int64_t first_step, std::int64_t steps) {
  steps_.expect(steps);
  Execution execution = LocalRunner::run(first_step, steps);
  steps_.flush();
  return execution;
}

void InStepRunner::run_batch(Execution& execution) {
  const TimelineSpan span("compute", "compute", next_step_);
  if (!own_values_.empty()) {
    if (!program_->eager()) steps_.prepare(dataset_.element_spec());
    restore_own_values();
  }
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
  for (int replica = 0; replica < replicas_->participants(); ++replica) replicas_->device(replica).synchronize();
  replicas_->check();
  replicas_->variables().gather();
}

void InStepRunner::read_logs(Logs& logs) {
  synchronize();
  LocalRunner::read_logs(logs);
}

}  // namespace cohort::distribute
