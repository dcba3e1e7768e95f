#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "cohort/core/thread_scope.h"
#include "cohort/data/dataset.h"
#include "cohort/data/dataset_creator.h"
#include "cohort/model/fit/step_runner.h"
#include "cohort/variables/variable_creator.h"

namespace cohort {

class Program;
class ReplicaContext;
class Strategy;

// The data of a run: a dataset of batches, or a function that makes one for each pipeline.
struct RunnerData {
  // The dataset; undefined when there is a function.
  Dataset dataset = {};
  // The function; none when there is a dataset.
  std::optional<DatasetCreator> creator = std::nullopt;
};

// Makes models and variables belong to a strategy while it lives. Thread-local, nested.
class StrategyScope {
 public:
  // Begins the scope.
  explicit StrategyScope(std::shared_ptr<Strategy> strategy);

 private:
  friend std::shared_ptr<Strategy> current_strategy();
  using Innermost = ThreadScope<Strategy, std::shared_ptr<Strategy>>;
  Innermost innermost_;
  VariableCreatorScope variables_;
};

// Where and how a model's steps run: here, on several devices, on a cluster. A model keeps the one it was made under.
class Strategy {
 public:
  virtual ~Strategy() = default;
  // What runs a program's steps over data.
  virtual std::unique_ptr<StepRunner> make_runner(std::shared_ptr<Program> program, const RunnerData& data,
                                                  const RunnerOptions& options) = 0;
  // Runs a program once, on one batch, as train_on_batch, test_on_batch and predict_on_batch do; returns what the
  // program gives. Computes in this process unless overridden.
  virtual Element run_on_batch(Program& program, const Element& batch, const RandomState& random);
  // Replicas whose gradients meet in one update.
  virtual int num_replicas_in_sync() const { return 1; }
  // Whether this process is the one of several in step that writes files and shows progress.
  virtual bool is_chief() const { return true; }
  // Those of them that compute in this process.
  virtual int num_local_replicas() const { return 1; }
  // Runs code once for each replica of this process, in its context; returns when all are done.
  //   rows: how many samples of a global batch each has; what one without a sample computes does not count.
  virtual void run_on_replicas(const std::vector<std::int64_t>& rows, const std::function<void(int replica)>& code);
  // How a step's code meets the other replicas'; nullptr: there are none.
  virtual const ReplicaContext* replica_context() const { return nullptr; }
  // Whether replicas have copies of variables, so that each may write to its own where those are synchronized on
  // reading.
  virtual bool mirrors_variables() const { return replica_context() != nullptr; }
  // Decides where variables made in its scope live; nullptr: here.
  virtual VariableCreator* variable_creator() { return nullptr; }
};

// The strategy of the innermost scope; outside every scope the local one.
std::shared_ptr<Strategy> current_strategy();

}  // namespace cohort
