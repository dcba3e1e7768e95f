#pragma once

#include <condition_variable>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "cohort/distribute/coordinator/cluster_runtime.h"
#include "cohort/distribute/coordinator/pending_sums.h"
#include "cohort/model/fit/runner_base.h"
#include "cohort/model/fit/strategy.h"

namespace cohort::distribute {

// Runs a program's steps on the workers of a cluster: each execution is a closure of that many steps, scheduled at once
// and run by whichever worker is free. For one thread, that of its trainer.
class ParameterServerRunner : public RunnerBase {
 public:
  ParameterServerRunner(std::shared_ptr<ClusterRuntime> runtime, std::shared_ptr<Program> program,
                        const RunnerData& data, const RunnerOptions& options);
  ~ParameterServerRunner() override;

  void build() override { trace_step(); }
  Execution run(std::int64_t first_step, std::int64_t steps) override;
  std::int64_t executions_ahead() const override;
  StepsDone wait_until_done(std::int64_t steps, std::chrono::milliseconds longest) override;
  void read_logs(Logs& logs) override;
  void synchronize() override;
  void cancel() override;
  RunFigures figures(bool asks) override;
  void begin_recording() override;
  std::vector<TimelineTrack> end_recording() override;

 private:
  struct Stretch {
    std::int64_t first_step, steps;
  };
  // What closures tell the runner, also when it is gone: then it does not matter.
  struct Shared {
    void finished(const Stretch& asked, ClosureResult& result, bool keep_outputs);
    void failed(const std::exception_ptr& why);

    std::mutex mutex;  // guards what follows
    std::condition_variable changed;
    std::int64_t under_way = 0;               // closures
    std::int64_t steps_left = 0;              // that were begun and are not done
    std::int64_t wake_at = 0;                 // steps left at which the runner wants to know
    std::map<std::int64_t, Tensors> outputs;  // of a predict program, by first step
    std::vector<Stretch> missing;             // whose pipeline ended within them
    std::vector<Stretch> unserved;            // that no pipeline had an element for
    std::exception_ptr error;                 // the first one
  };

  // Pipelines that the data is divided into when a job first starts.
  std::int64_t pipelines_at_start() const;
  // Divides the data into so many.
  void divide_data(std::int64_t pipelines);
  void trace_step();
  void prepare();
  std::int64_t cardinality() const override { return cardinality_; }
  void begin_data(bool continues) override;
  std::string save_data() const override;
  void restore_data(const std::string& state) override;
  void schedule(const Stretch& stretch);
  void schedule_missing();
  // Both with the mutex held.
  bool may_start_pass_over() const;
  void start_pass_over();
  Tensors wait_for_outputs(std::int64_t first_step);
  void wait_for_all_outputs();
  [[noreturn]] void throw_what_went_wrong();
  Execution run_predict(std::int64_t first_step, std::int64_t steps);
  std::int64_t elements_left() const;

  std::shared_ptr<ClusterRuntime> runtime_;
  const RunnerData data_;
  std::vector<Dataset> pipelines_;
  std::int64_t cardinality_ = 0;  // of all pipelines together
  std::shared_ptr<const ClusterDataset> dataset_;
  const StepGraph* step_ = nullptr;  // the program's
  std::shared_ptr<const PlacedFunction> function_;
  std::int64_t taken_ = 0;  // elements of this pass that closures were made for
  bool continues_ = false;  // the epoch began in the middle of a pass
  std::int64_t ahead_ = 0;  // of a predict program: steps scheduled
  bool recording_ = false;
  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
  const std::shared_ptr<ClosureGroup> group_ = std::make_shared<ClosureGroup>();
  std::shared_ptr<PendingSums> sums_ = std::make_shared<PendingSums>();
};

}  // namespace cohort::distribute
