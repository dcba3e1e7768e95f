#include "cohort/model/fit/step_loop.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "cohort/core/log.h"
#include "cohort/core/timeline.h"

namespace cohort::trainer {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
// Between two looks at the clock and at Ctrl-C while nothing comes in.
constexpr std::chrono::milliseconds kLookAround = 50ms;
// How long what is under way may take when the run is to end, before it is cancelled.
constexpr std::chrono::milliseconds kInterruptGrace = 1s;
constexpr std::chrono::milliseconds kTerminationGrace = 10s;

}  // namespace

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

Execution StepLoop::run_execution(std::int64_t steps) {
  const TimelineSpan span("execution", phase_ == CallbackList::Phase::Train ? "execution" : "evaluation",
                          progress_.steps);
  return runner_->run(progress_.steps, steps);
}

Pass StepLoop::run(CallbackList::Phase phase, CallbackList& callbacks, const InterruptScope* interrupt,
                   std::vector<Element>* outputs) {
  phase_ = phase;
  limit_ = runner_->steps().value_or(kNever);
  progress_.ended |= progress_.steps >= limit_;
  first_ = delivered_ = progress_.steps;
  data_ended_ = false;
  find_quiet_point(callbacks);
  Pass pass;
  StepsDone done = runner_->wait_until_done(0, {});
  for (;;) {
    if (may_begin_another(done)) {
      begin_execution(callbacks, outputs);
      done = runner_->wait_until_done(0, {});
    } else if (!done.quiet) {
      done = wait_for_some(callbacks, done);
    }
    note_end_of_data(done);
    deliver(callbacks, done);
    pass.interrupted = agree(interrupt).interrupted;
    if (done.quiet && progress_.ended) break;
    if (pass.interrupted) {
      pass.exact = finish_what_is_begun(callbacks, terminated_ ? kTerminationGrace : kInterruptGrace);
      break;
    }
    if (stops()) {
      pass.exact = done.quiet;
      if (!done.quiet) cancel();
      break;
    }
    if (done.quiet && progress_.steps >= quiet_after_) find_quiet_point(callbacks);
  }
  if (progress_.steps == 0 && pass.exact && !pass.interrupted) {
    throw invalid_argument(who_, "the data must hold at least one batch", {{"epoch", progress_.epoch}},
                           "Check that the dataset is not empty.");
  }
  if (data_ended_ && asked_ && progress_.steps < *asked_ && progress_.steps > 0) {
    log::warn(std::string(who_) + ": the data ended after " + std::to_string(progress_.steps) + " of " +
              std::to_string(*asked_) + " batches. Use repeat() on the dataset, or ask for fewer steps.");
  }
  pass.steps = progress_.steps;
  return pass;
}

RunSignals StepLoop::agree(const InterruptScope* interrupt) {
  const RunSignals agreed = runner_->agree({.stop = stops(),
                                            .interrupted = interrupt && interrupt->interrupted(),
                                            .terminated = interrupt && interrupt->terminated()});
  terminated_ = agreed.terminated;
  if (agreed.stop && phase_ == CallbackList::Phase::Train) model_.stop_training = true;
  return agreed;
}

void StepLoop::find_quiet_point(const CallbackList& callbacks) {
  const std::int64_t batches = phase_ == CallbackList::Phase::Train ? callbacks.batches_until_quiet() : 0;
  quiet_after_ = batches > 0 ? progress_.steps + batches : kNever;
}

bool StepLoop::may_begin_another(const StepsDone& done) const {
  return !progress_.ended && progress_.steps < quiet_after_ && !done.data_ended &&
         progress_.steps - done.steps <= runner_->executions_ahead() * steps_per_execution_;
}

void StepLoop::begin_execution(CallbackList& callbacks, std::vector<Element>* outputs) {
  callbacks.batch_begin(phase_, progress_.steps);
  Execution execution = run_execution(std::min(steps_per_execution_, limit_ - progress_.steps));
  progress_.steps += execution.steps;
  progress_.ended = execution.data_ended || progress_.steps >= limit_;
  data_ended_ |= execution.data_ended;
  if (!outputs) return;
  for (Element& output : execution.outputs) outputs->push_back(std::move(output));
}

StepsDone StepLoop::wait_for_some(const CallbackList& callbacks, const StepsDone& done) {
  const TimelineSpan span("wait", "wait for steps", delivered_);
  // A third at once rather than one by one: those who run steps have enough meanwhile, and this thread can sleep.
  std::int64_t wanted = progress_.steps - runner_->executions_ahead() * steps_per_execution_ * 2 / 3;
  if (progress_.ended || progress_.steps >= quiet_after_ || done.data_ended) wanted = progress_.steps;
  if (callbacks.wants_every_batch()) wanted = std::min(delivered_ + steps_per_execution_, progress_.steps);
  return runner_->wait_until_done(wanted, kLookAround);
}

// What was begun may be more than the data held.
void StepLoop::note_end_of_data(const StepsDone& done) {
  if (!done.data_ended || !done.quiet) return;
  progress_.steps = done.steps;
  progress_.ended = data_ended_ = true;
}

// In order, those of executions that are done.
void StepLoop::deliver(CallbackList& callbacks, const StepsDone& done) {
  if (!callbacks.wants_every_batch()) {
    if (done.steps > delivered_) callbacks.sample(phase_, done.steps - 1, *runner_);
    delivered_ = done.steps;
    return;
  }
  while (delivered_ < done.steps) {
    const std::int64_t end = std::min(delivered_ + steps_per_execution_, progress_.steps);
    if (end > done.steps) return;
    delivered_ = end;
    callbacks.batch_end(phase_, end - 1, *runner_);
    if (stops()) return;
  }
}

// False when it takes too long: then some of it is done and the rest is not.
bool StepLoop::finish_what_is_begun(CallbackList& callbacks, std::chrono::milliseconds longest) {
  const auto until = std::chrono::steady_clock::now() + longest;
  for (;;) {
    const StepsDone done = runner_->wait_until_done(progress_.steps, kLookAround);
    note_end_of_data(done);
    deliver(callbacks, done);
    if (done.quiet) return true;
    if (std::chrono::steady_clock::now() < until) continue;
    cancel();
    return false;
  }
}

void StepLoop::cancel() {
  runner_->cancel();
  progress_.steps = runner_->wait_until_done(0, {}).steps;
  progress_.ended = false;
}

std::optional<double> StepLoop::measured(std::string_view name) const {
  if (name == kSteps) return static_cast<double>(delivered_ - first_);
  return runner_->measured(name);
}

Position StepLoop::position() {
  runner_->synchronize();
  Position position = runner_->position();
  position.epoch = progress_.epoch;
  position.step = std::min(progress_.steps, runner_->wait_until_done(0, {}).steps);
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
