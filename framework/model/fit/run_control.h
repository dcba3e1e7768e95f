#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "cohort/core/timeline.h"
#include "cohort/data/stage_stats.h"
#include "cohort/model/fit/position.h"
#include "cohort/model/fit/run_figures.h"

namespace cohort {

// What a callback may ask of the fit it watches, wherever the steps run. Used on fit's own thread.
class RunControl {
 public:
  virtual ~RunControl() = default;
  // A quiet point: nothing is running when it returns, and weights and metrics hold every step begun.
  virtual void synchronize() = 0;
  // The same, and metrics and moving statistics are those of all workers. Workers in step ask for it at the same batch,
  // or none does.
  virtual void gather() = 0;
  // Where the run stands, at a quiet point. Workers in step ask for it at the same batch, or none does.
  virtual Position position() = 0;
  // Goes on from there instead of the beginning; in on_train_begin only. Weights, the optimizer's state and, in the
  // middle of an epoch, the metrics are the caller's to put back.
  virtual void restore(const Position& position) = 0;
  // Asks for a figure by its name, from now on: "examples" (samples trained on), "seconds_waiting_for_data", or another
  // one that the strategy's runner knows. "steps" (batches trained on) is counted without being asked for. False where
  // this run cannot tell.
  virtual bool measure(std::string_view name) = 0;
  // The figure for the training of the epoch in progress, or of the last one when it has ended; none where measure()
  // said no, or was not called for a figure that needs it.
  virtual std::optional<double> measured(std::string_view name) const = 0;
  // What each stage of the data has done since the run began, the last one first; nothing where others read it.
  virtual DatasetStats data_stats() const = 0;
  // What the strategy's runner can tell of those who run the steps, for logs; nothing where that is fit's own thread.
  // `asks`: of now, for which it may ask them and wait a moment; else what is new since the last time, at once.
  virtual RunFigures figures(bool asks) = 0;
  // Lets all other threads and tasks that work for the run note what they do when, and ends that.
  virtual void begin_recording() = 0;
  virtual std::vector<TimelineTrack> end_recording() = 0;
  // Ctrl-C or SIGTERM ended the run: on_train_end comes, but the training is not over.
  virtual bool interrupted() const = 0;
};

}  // namespace cohort
