#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cohort/model/model.h"

namespace cohort::distribute {

// What SidecarEvaluator takes besides the model, its data and the folder.
struct SidecarEvaluatorOptions {
  // Batches of an evaluation; none: until the data ends.
  std::optional<std::int64_t> steps = std::nullopt;
  // It ends after so many evaluations in all, or when a checkpoint of at least this number ("ckpt-<number>") and all
  // others there are evaluated; none: it ends otherwise.
  std::optional<std::int64_t> max_evaluations = std::nullopt;
  // Callbacks of every evaluation. One that sets model().stop_training asks the training to stop.
  std::vector<Ref<Callback>> callbacks = {};
  // Folder whose run "validation" gets the figures over the training step, each once, under Keras's tags
  // ("evaluation_loss_vs_iterations"); empty: none.
  std::string log_dir = {};
  // How the names of the checkpoints that count begin; empty: all count.
  std::string checkpoint_name = {};
  // File that remembers what was evaluated; empty: "evaluations.json" in the folder.
  std::string journal = {};
  // 0 silent, 1 bar, 2 one line for each evaluation.
  int verbose = 2;
  // Seconds between two looks at the folder while there is nothing to do.
  double poll_interval = 1.0;
  // Seconds of waiting after which it says for what it waits, again and again.
  double report_interval = 30.0;
  // Seconds without a new checkpoint after which it gives up.
  double timeout = 86400.0;
};

// One checkpoint that was evaluated.
struct Evaluation {
  // Its name in the folder: "ckpt-3", "03.keras".
  std::string checkpoint;
  // The training step it was saved at: the optimizer's iterations.
  std::int64_t step = 0;
  // The figures.
  Logs logs = {};
};

// Evaluates every checkpoint that a training writes into a folder (.keras, .weights.h5, those of CheckpointManager and
// BackupAndRestore) once, the newest first, beside the training and without its knowing: the task "evaluator" of a
// cluster. Killed and started again it goes on. The model is made and compiled as the training's, outside of its
// strategy's scope. For one thread, stop() for any.
class SidecarEvaluator {
 public:
  // The model must outlive it.
  //   data: what evaluate takes.
  //   checkpoint_dir: the folder, which need not exist yet.
  SidecarEvaluator(Model& model, DataArgument data, std::string checkpoint_dir, SidecarEvaluatorOptions options = {});
  ~SidecarEvaluator();
  SidecarEvaluator(const SidecarEvaluator&) = delete;

  // Evaluates until the training is over (callbacks::StopFromEvaluator says so) and nothing is left, max_evaluations
  // are done, stop() is called, or Ctrl-C or SIGTERM comes; what is under way is finished. Throws DeadlineExceeded when
  // nothing new came for `timeout`, DataLoss when there were checkpoints and none of them could be read.
  void start();
  // Makes start() return after the evaluation under way.
  void stop();
  // What was evaluated so far in this folder, by this process and those before it, in the order of evaluation.
  const std::vector<Evaluation>& evaluations() const;

 private:
  class Body;
  std::unique_ptr<Body> body_;
};

}  // namespace cohort::distribute
