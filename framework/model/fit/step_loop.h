#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "cohort/model/fit/callback_list.h"
#include "cohort/model/fit/interrupt.h"
#include "cohort/model/fit/program.h"
#include "cohort/model/fit/run_control.h"
#include "cohort/model/fit/strategy.h"
#include "cohort/model/model.h"

namespace cohort::trainer {

// How one pass over the data ended.
struct Pass {
  std::int64_t steps = 0;
  bool interrupted = false;  // Ctrl-C or SIGTERM
  bool exact = true;         // all that was begun is done, or nothing of it
};

// The executions of an epoch, one after the other, on the runner of the model's strategy.
class StepLoop {
 public:
  StepLoop(Model& model, std::shared_ptr<Program> program, const RunnerData& data, std::optional<std::int64_t> steps,
           const char* who, std::uint64_t fit = 0);

  StepRunner& runner() { return *runner_; }
  void begin_epoch(std::int64_t epoch);
  // Does what is left of the epoch, or of it what is done when the run ends early: nothing is under way when it
  // returns.
  Pass run(CallbackList::Phase phase, CallbackList& callbacks, const InterruptScope* interrupt,
           std::vector<Element>* outputs = nullptr);
  // Everything that belongs to the epoch is done: from now on position() is before the next one.
  void finish_epoch() { progress_ = {.epoch = progress_.epoch + 1}; }

  // What all who take part in the run do, given what came here; a stop is noted in the model.
  RunSignals agree(const InterruptScope* interrupt);
  // Whether what was last agreed on is that SIGTERM ends the run.
  bool terminated() const { return terminated_; }

  Position position();
  void restore(const Position& position);
  // Of the latest run(): it counts "steps" itself, all else is the runner's to know.
  bool measure(std::string_view name) { return name == kSteps || runner_->measure(name); }
  std::optional<double> measured(std::string_view name) const;

 private:
  static constexpr std::string_view kSteps = "steps";

  bool may_begin_another(const StepsDone& done) const;
  void begin_execution(CallbackList& callbacks, std::vector<Element>* outputs);
  Execution run_execution(std::int64_t steps);
  StepsDone wait_for_some(const CallbackList& callbacks, const StepsDone& done);
  void deliver(CallbackList& callbacks, const StepsDone& done);
  void note_end_of_data(const StepsDone& done);
  bool finish_what_is_begun(CallbackList& callbacks, std::chrono::milliseconds longest);
  void cancel();
  bool stops() const { return phase_ == CallbackList::Phase::Train && model_.stop_training; }
  void find_quiet_point(const CallbackList& callbacks);

  bool terminated_ = false;
  struct Progress {
    std::int64_t epoch = 0;
    std::int64_t steps = 0;
    bool ended = false;
  };

  Model& model_;
  std::int64_t steps_per_execution_;
  const char* who_;
  std::optional<std::int64_t> asked_;
  std::unique_ptr<StepRunner> runner_;
  Progress progress_;           // of what was begun
  bool resumes_epoch_ = false;  // the next epoch to begin is one that was interrupted

  // Of the latest run().
  CallbackList::Phase phase_ = CallbackList::Phase::Train;
  std::int64_t limit_ = 0;        // steps of the epoch
  std::int64_t first_ = 0;        // its first step
  std::int64_t delivered_ = 0;    // steps of the epoch whose hooks have been called
  std::int64_t quiet_after_ = 0;  // steps of the epoch at which nothing more is begun until all hooks have been called
  bool data_ended_ = false;
};

// A fit's training loop and its callbacks, as a callback may use them.
class FitControl : public RunControl {
 public:
  FitControl(StepLoop& loop, Model& model, CallbackList& callbacks)
      : loop_(loop), model_(model), callbacks_(callbacks) {}
  void synchronize() override { loop_.runner().synchronize(); }
  void gather() override { loop_.runner().gather(); }
  Position position() override;
  void restore(const Position& position) override;
  bool measure(std::string_view name) override { return loop_.measure(name); }
  std::optional<double> measured(std::string_view name) const override { return loop_.measured(name); }
  DatasetStats data_stats() const override { return loop_.runner().data_stats(); }
  RunFigures figures(bool asks) override { return loop_.runner().figures(asks); }
  void begin_recording() override { loop_.runner().begin_recording(); }
  std::vector<TimelineTrack> end_recording() override { return loop_.runner().end_recording(); }
  bool interrupted() const override { return interrupted_; }

  // All callbacks know that training begins: those of a run that goes on get back what they had. Returns where it goes
  // on from, if a callback wants that. Too late to restore from now on.
  const std::optional<Position>& begin();
  void set_interrupted() { interrupted_ = true; }

 private:
  StepLoop& loop_;
  Model& model_;
  CallbackList& callbacks_;
  std::optional<Position> restored_;
  bool begun_ = false, interrupted_ = false;
};

}  // namespace cohort::trainer
