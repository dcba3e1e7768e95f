#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "cohort/config/ref.h"
#include "cohort/model/fit/logs.h"

namespace cohort {

class Model;
class RunControl;

// How often a callback wants the batch hooks. A hook comes once for each execution (of steps_per_execution batches).
enum class BatchHooks {
  None,
  Sampled,  // now and then, at most some twenty times a second
  Every,    // one after the other; logs that it does not look at cost nothing
};

// What a run was started with.
struct CallbackParams {
  // 0 silent, 1 bar, 2 a line per epoch.
  int verbose = 0;
  // Epoch to train up to, counted from 1.
  std::int64_t epochs = 1;
  std::optional<std::int64_t> steps = std::nullopt;  // batches in an epoch, where known
};

// Watches and steers fit, evaluate and predict. A user derives and overrides hooks; all run on the thread that called
// fit, with the model's weights at rest except in batch hooks. Logs may be added to: later callbacks see what
// earlier ones wrote. Where several batches are under way at once, on a cluster, nothing waits for a batch hook: the
// begin comes when a batch is scheduled, the end of batch n once n + 1 batches are done, a few per worker later, with
// the figures of all that is done by then.
class Callback {
 public:
  virtual ~Callback() = default;

  // Called once when fit begins, before the first epoch.
  virtual void on_train_begin() {}
  // Called once when fit ends, with the last epoch's logs.
  virtual void on_train_end(Logs&) {}
  // Called before an epoch, counted from 0.
  virtual void on_epoch_begin(std::int64_t /*epoch*/) {}
  // Called after an epoch and its validation, with the figures of both (validation's as "val_...").
  virtual void on_epoch_end(std::int64_t /*epoch*/, Logs&) {}
  // Called before a batch of training, counted from 0 in each epoch.
  virtual void on_train_batch_begin(std::int64_t /*batch*/) {}
  // Called after a batch of training, with the epoch's running figures.
  virtual void on_train_batch_end(std::int64_t /*batch*/, Logs&) {}

  // Called once when evaluate or a validation begins.
  virtual void on_test_begin() {}
  // Called once when it ends, with its figures.
  virtual void on_test_end(Logs&) {}
  // Called before a batch of evaluate or a validation, counted from 0.
  virtual void on_test_batch_begin(std::int64_t /*batch*/) {}
  // Called after a batch of evaluate or a validation, with the running figures.
  virtual void on_test_batch_end(std::int64_t /*batch*/, Logs&) {}

  // Called once when predict begins.
  virtual void on_predict_begin() {}
  // Called once when predict ends.
  virtual void on_predict_end(Logs&) {}
  // Called before a batch of predict, counted from 0.
  virtual void on_predict_batch_begin(std::int64_t /*batch*/) {}
  // Called after a batch of predict.
  virtual void on_predict_batch_end(std::int64_t /*batch*/, Logs&) {}

  // Called when SIGTERM ends fit, where everything begun is done and a saved position can be gone on from; then comes
  // on_train_end.
  virtual void on_preemption() {}

  // How often it wants the batch hooks. Asked once when a run begins.
  virtual BatchHooks batch_hooks() const { return BatchHooks::Every; }
  // How many batches from now on on_train_batch_end needs the weights at rest, for a save: nothing is scheduled beyond
  // that batch until the hook has returned. 0: never. Asked when an epoch begins and after each such hook.
  virtual std::int64_t batches_until_quiet() const { return 0; }

  // Whether it is for one of several workers in step, the chief: it shows something, or writes files that they share.
  virtual bool for_chief_only() const { return false; }

  // Whether on_train_begin needs the weights, the optimizer's state and the metrics to exist. Asked once, before it.
  virtual bool needs_built_model() const { return false; }

  // What it has gathered since on_train_begin and a run that goes on in another process needs back: bytes that
  // restore_state() understands, which comes after on_train_begin. Empty: nothing.
  virtual std::string save_state() const { return {}; }
  // Takes back what save_state() gave.
  virtual void restore_state(std::string_view /*state*/) {}

  // Called before a run begins, with what it was started with.
  virtual void set_params(const CallbackParams& params) { params_ = params; }
  // Called before a run begins, with the model.
  virtual void set_model(Model& model) { model_ = &model; }
  // The model of the run.
  Model& model() const { return *model_; }
  // What the run was started with.
  const CallbackParams& params() const { return params_; }
  // The current fit; nullptr when it is over.
  virtual void set_run(RunControl* run) { run_ = run; }
  // The current fit; throws outside fit.
  RunControl& run() const;

 private:
  Model* model_ = nullptr;
  CallbackParams params_;
  RunControl* run_ = nullptr;
};

}  // namespace cohort
