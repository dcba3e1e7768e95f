#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <set>

#include "cohort/distribute/coordinator/cluster_runtime.h"
#include "cohort/distribute/coordinator/pending_sums.h"
#include "cohort/model/fit/runner_base.h"
#include "cohort/model/fit/strategy.h"

namespace cohort::distribute {

// Runs a program's steps on the workers of a cluster: each execution is a closure of that many steps, scheduled at once
// and run by whichever worker is free.
class ParameterServerRunner : public RunnerBase {
 public:
  ParameterServerRunner(std::shared_ptr<ClusterRuntime> runtime, std::shared_ptr<Program> program,
                        const RunnerData& data, const RunnerOptions& options);
  ~ParameterServerRunner() override;

  void build() override { trace_step(); }
  Execution run(std::int64_t first_step, std::int64_t steps) override;
  // Waits for the execution first: until then the metrics lack what it gave.
  void read_logs(std::int64_t ticket, Logs& logs) override;
  void synchronize() override;
  void cancel() override;

 private:
  // What closures tell the runner, also when it is gone: then it does not matter.
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    std::set<std::int64_t> under_way;                            // first steps of closures
    std::map<std::int64_t, Tensors> outputs;                     // of a predict program, by first step
    std::vector<std::pair<std::int64_t, std::int64_t>> missing;  // (first step, steps) that found no data
    bool failed = false;
  };

  void trace_step();
  void prepare();
  std::int64_t cardinality() const override { return cardinality_; }
  void begin_data(bool continues) override;
  std::string save_data() const override;
  void restore_data(const std::string& state) override;
  void schedule(std::int64_t first_step, std::int64_t steps);
  void schedule_missing();
  void wait_for(std::int64_t first_step);
  Execution run_predict(std::int64_t first_step, std::int64_t steps);
  std::int64_t elements_left() const;

  std::shared_ptr<ClusterRuntime> runtime_;
  std::vector<Dataset> pipelines_;
  std::int64_t cardinality_ = 0;  // of all pipelines together
  int dataset_ = -1;
  const StepGraph* step_ = nullptr;  // the program's
  std::shared_ptr<const PlacedFunction> function_;
  std::int64_t taken_ = 0;  // elements of this pass that closures were made for
  std::int64_t ahead_ = 0;  // of a predict program: steps scheduled
  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
  std::shared_ptr<PendingSums> sums_ = std::make_shared<PendingSums>();
};

}  // namespace cohort::distribute
