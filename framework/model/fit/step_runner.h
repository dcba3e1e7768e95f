#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "cohort/core/timeline.h"
#include "cohort/data/element.h"
#include "cohort/data/stage_stats.h"
#include "cohort/model/fit/logs.h"
#include "cohort/model/fit/position.h"
#include "cohort/model/fit/run_figures.h"

namespace cohort {

// What one run() did, or has begun to do.
struct Execution {
  std::int64_t steps = 0;   // batches taken
  bool data_ended = false;  // the data gave out before `steps` were asked for
  // Outputs of each step, in order; of a predict program only.
  std::vector<Element> outputs = {};
};

// How much of what run() has begun in this epoch is done.
struct StepsDone {
  // Batches of the epoch, in whichever order they were done.
  std::int64_t steps = 0;
  // The data gave out before what was begun: nothing more need be begun.
  bool data_ended = false;
  // Nothing is under way.
  bool quiet = true;
};

struct RunnerOptions {
  // Batches of an epoch; none: until the data ends. With a number, the next epoch of a train program goes on where the
  // last one stopped; the others start over.
  std::optional<std::int64_t> steps_per_epoch = std::nullopt;
  // Batches between two batch hooks.
  std::int64_t steps_per_execution = 1;
  // Which of the model's fits this is, counted from 0: each draws its own random numbers.
  std::uint64_t fit = 0;
  // The first fit draws from the global seed itself, later ones each from one of their own.
  std::uint64_t seed() const { return fit == 0 ? global_seed() : hash_combine(global_seed(), fit); }
};

// Why a run may end early.
struct RunSignals {
  // A callback wants no more steps.
  bool stop = false;
  // Ctrl-C or SIGTERM came.
  bool interrupted = false;
  // It was SIGTERM.
  bool terminated = false;
};

// Runs a program over data. The trainer is its only caller, from one thread. Its logs are the running figures of what
// is done.
class StepRunner : public LogsSource {
 public:
  // Makes the weights, optimizer state and metrics that the first step would make; only called when they are needed
  // before it. What it traces is what the steps run.
  virtual void build() {}
  // Zeroes the metrics and stands before the epoch's first batch; after restore() into the middle of this epoch both
  // stay as they are.
  virtual void begin_epoch(std::int64_t epoch) = 0;
  // Runs up to `steps` batches; may return before the work is done.
  virtual Execution run(std::int64_t first_step, std::int64_t steps) = 0;
  // How many executions may be under way when another one is begun, so that nobody who runs them is ever without.
  virtual std::int64_t executions_ahead() const { return 0; }
  // Waits until that many batches of the epoch are done, nothing is under way, or the time is up; then says what is
  // done. Throws what went wrong meanwhile.
  virtual StepsDone wait_until_done(std::int64_t steps, std::chrono::milliseconds longest) = 0;
  // Waits; the metrics are whole.
  virtual Logs end_epoch() = 0;
  // A quiet point: nothing is running when it returns. Before a callback reads or writes weights.
  virtual void synchronize() {}
  // The same, and what those who take part keep each for itself, as metrics, is put together. Called by each of them at
  // the same points.
  virtual void gather() { synchronize(); }
  // Drops what has not started and awaits what has; what was done counts.
  virtual void cancel() {}
  // What all who take part in the run do: what one of them wants, all of them do. Called by each at the same points.
  virtual RunSignals agree(const RunSignals& own) { return own; }
  // The run ends here for all who take part, though by an exception.
  virtual void end_run() {}
  // At a quiet point. The trainer, which counts them, fills in epoch and step.
  virtual Position position() const = 0;
  // Before the first begin_epoch, which is that of position.epoch.
  virtual void restore(const Position& position) = 0;
  // Batches of an epoch, where known.
  virtual std::optional<std::int64_t> steps() const = 0;
  // What RunControl::measure asks for: false for a figure that it does not know.
  virtual bool measure(std::string_view) { return false; }
  // A figure that it was asked to measure, of the epoch so far.
  virtual std::optional<double> measured(std::string_view) const { return std::nullopt; }
  // What RunControl::data_stats gives.
  virtual DatasetStats data_stats() const { return {}; }
  // What RunControl::figures gives.
  virtual RunFigures figures(bool /*asks*/) { return {}; }
  // From here to the next call all other threads and tasks that work for it note what they do when.
  virtual void begin_recording() {}
  virtual std::vector<TimelineTrack> end_recording() { return {}; }
};

}  // namespace cohort
