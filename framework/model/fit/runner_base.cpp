#include "cohort/model/fit/runner_base.h"

#include <utility>

#include "cohort/model/fit/training.h"
#include "cohort/model/model.h"

namespace cohort {

RunnerBase::RunnerBase(std::shared_ptr<Program> program, const RunnerOptions& options)
    : program_(std::move(program)), options_(options) {
  random_.seed = options_.seed();
}

std::optional<std::int64_t> RunnerBase::steps() const {
  if (options_.steps_per_epoch) return options_.steps_per_epoch;
  const std::int64_t batches = cardinality();
  if (batches < 0) return std::nullopt;
  return batches;
}

void RunnerBase::begin_epoch(std::int64_t epoch) {
  random_.epoch = static_cast<std::uint64_t>(epoch);
  if (std::exchange(resumes_epoch_, false)) return;
  begin_data(options_.steps_per_epoch && program_->kind() == Program::Kind::Train);
  next_step_ = 0;
  if (!predicts()) program_->reset_metrics();
}

Logs RunnerBase::end_epoch() {
  synchronize();
  Logs logs;
  if (!predicts()) program_->read_results(logs);
  return logs;
}

void RunnerBase::read_logs(Logs& logs) {
  if (predicts()) return logs.clear();
  program_->read_results(logs);
}

Position RunnerBase::position() const {
  return {.epoch = static_cast<std::int64_t>(random_.epoch),
          .step = next_step_,
          .data = save_data(),
          .random = random_,
          .fit = options_.fit};
}

void RunnerBase::restore(const Position& position) {
  restore_data(position.data);
  resumes_epoch_ = position.mid_epoch();
  random_ = position.random;
  options_.fit = position.fit;
  if (program_->kind() == Program::Kind::Train) program_->model().training().note_fit(position.fit);
  next_step_ = position.step;
}

}  // namespace cohort
