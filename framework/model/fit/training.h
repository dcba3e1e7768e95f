#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>

#include "cohort/model/fit/program.h"
#include "cohort/model/fit/strategy.h"

namespace cohort {

// The engine behind a model's fit, evaluate and predict: the strategy its steps run under, the traced steps, and what
// is counted over several fits. Thread-safe but for the counters, which belong to whoever trains.
class Training {
 public:
  explicit Training(Model& model) : model_(model), strategy_(current_strategy()) {}

  // The one the model was made under.
  const std::shared_ptr<Strategy>& strategy() const { return strategy_; }
  // The model's train, test or predict step. A run holds the program it began with, whatever happens to the model
  // meanwhile.
  std::shared_ptr<Program> program(Program::Kind kind);
  // Needed after a change that traces cannot see.
  void forget_programs();
  // Held while a step is traced: the layers keep the penalties of one call at a time. Recursive, since a step may use
  // the model's other programs.
  std::recursive_mutex& trace_mutex() { return trace_mutex_; }

  // The number of fits begun before this one, which counts from now on.
  std::uint64_t begin_fit() { return fits_begun_++; }
  // The running fit resumes that one, begun earlier or in another process: counting goes on behind it.
  void note_fit(std::uint64_t fit) { fits_begun_ = fit + 1; }
  // The random state of the next train_on_batch: each draws its own numbers.
  RandomState begin_batch() { return {.seed = global_seed(), .step = batches_trained_++}; }

 private:
  Model& model_;
  std::shared_ptr<Strategy> strategy_;
  std::mutex programs_mutex_;
  std::recursive_mutex trace_mutex_;
  std::array<std::shared_ptr<Program>, 3> programs_;  // by kind
  std::uint64_t batches_trained_ = 0;
  std::uint64_t fits_begun_ = 0;
};

}  // namespace cohort
