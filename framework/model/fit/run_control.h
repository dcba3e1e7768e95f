#pragma once

#include "cohort/model/fit/epoch_work.h"
#include "cohort/model/fit/position.h"

namespace cohort {

// What a callback may ask of the fit it watches, wherever the steps run. Used on fit's own thread.
class RunControl {
 public:
  virtual ~RunControl() = default;
  // A quiet point: nothing is running when it returns, and weights and metrics hold every step begun.
  virtual void synchronize() = 0;
  // Where the run stands, at a quiet point.
  virtual Position position() = 0;
  // Goes on from there instead of the beginning; in on_train_begin only. Weights, the optimizer's state and, in the
  // middle of an epoch, the metrics are the caller's to put back.
  virtual void restore(const Position& position) = 0;
  // From now on work() tells examples and waiting, too, for two looks at the clock a step.
  virtual void measure_work() = 0;
  // Of the current epoch, or the last one when it has ended.
  virtual EpochWork work() const = 0;
  // Ctrl-C ended the run: on_train_end comes, but the training is not over.
  virtual bool interrupted() const = 0;
};

}  // namespace cohort
