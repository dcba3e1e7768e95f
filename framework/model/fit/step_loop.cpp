#include "cohort/model/fit/step_loop.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "cohort/core/log.h"
#include "cohort/core/timeline.h"

namespace cohort::trainer {

StepLoop::StepLoop(Model& model, std::shared_ptr<Program> program, const RunnerData& data,
                   std::optional<std::int64_t> steps, const char* who, std::uint64_t fit)
    : model_(model),
      steps_per_execution_(model.compiled() ? model.compile_options().steps_per_execution : 1),
      who_(who),
      asked_(steps),
      runner_(model.strategy()->make_runner(
          std::move(program), data,
          {.steps_per_epoch = steps, .steps_per_execution = steps_per_execution_, .fit = fit})) {
  if (steps && *steps <= 0) throw invalid_argument(who_, "the number of steps must be positive", {{"steps", *steps}});
}

void StepLoop::begin_epoch(std::int64_t epoch) {
  runner_->begin_epoch(epoch);
  if (!std::exchange(resumes_epoch_, false)) progress_ = {.epoch = epoch};
}

Execution StepLoop::run_execution(CallbackList::Phase phase, std::int64_t steps) {
  const TimelineSpan span("execution", phase == CallbackList::Phase::Train ? "execution" : "evaluation",
                          progress_.steps);
  return runner_->run(progress_.steps, steps);
}

Pass StepLoop::run(CallbackList::Phase phase, CallbackList& callbacks, const InterruptScope* interrupt,
                   std::vector<Element>* outputs) {
  const std::int64_t limit = runner_->steps().value_or(std::numeric_limits<std::int64_t>::max());
  Pass pass;
  steps_done_ = 0;
  while (progress_.steps < limit && !progress_.ended) {
    callbacks.batch_begin(phase, progress_.steps);
    Execution execution = run_execution(phase, std::min(steps_per_execution_, limit - progress_.steps));
    progress_.steps += execution.steps;
    steps_done_ += execution.steps;
    progress_.ended = execution.data_ended || progress_.steps >= limit;
    if (execution.steps > 0) {
      if (outputs) {
        for (Element& output : execution.outputs) outputs->push_back(std::move(output));
      }
      callbacks.batch_end(phase, progress_.steps - 1, execution);
    }
    pass.interrupted = interrupt && interrupt->interrupted();
    if (execution.data_ended) {
      if (asked_ && progress_.steps < *asked_ && progress_.steps > 0) {
        log::warn(std::string(who_) + ": the data ended after " + std::to_string(progress_.steps) + " of " +
                  std::to_string(*asked_) + " batches. Use repeat() on the dataset, or ask for fewer steps.");
      }
      break;
    }
    if (phase == CallbackList::Phase::Train && model_.stop_training) {
      pass.stopped = true;
      break;
    }
    if (pass.interrupted) break;
  }
  if (progress_.steps == 0) {
    throw invalid_argument(who_, "the data must hold at least one batch", {{"epoch", progress_.epoch}},
                           "Check that the dataset is not empty.");
  }
  pass.steps = progress_.steps;
  return pass;
}

std::optional<double> StepLoop::measured(std::string_view name) const {
  if (name == kSteps) return static_cast<double>(steps_done_);
  return runner_->measured(name);
}

Position StepLoop::position() {
  runner_->synchronize();
  Position position = runner_->position();
  position.epoch = progress_.epoch;
  position.step = progress_.steps;
  position.epoch_ended = progress_.ended;
  return position;
}

void StepLoop::restore(const Position& position) {
  runner_->restore(position);
  progress_ = {.epoch = position.epoch, .steps = position.step, .ended = position.epoch_ended};
  resumes_epoch_ = true;
}

Position FitControl::position() {
  Position position = loop_.position();
  position.stopped = model_.stop_training;
  position.callbacks = callbacks_.save_states();
  return position;
}

void FitControl::restore(const Position& position) {
  if (begun_) {
    throw failed_precondition("RunControl.restore", "a run is restored before its first epoch", {},
                              "Call it in on_train_begin.");
  }
  loop_.restore(position);
  restored_ = position;
}

const std::optional<Position>& FitControl::begin() {
  begun_ = true;
  if (restored_) callbacks_.restore_states(restored_->callbacks);
  return restored_;
}

}  // namespace cohort::trainer
