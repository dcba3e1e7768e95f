#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cohort/distribute/collective/communicator.h"
#include "cohort/distribute/strategies/in_step_runner.h"
#include "cohort/distribute/strategies/worker_share.h"

namespace cohort::distribute {

// Runs a program's steps on the replicas of several workers, which all run the same program: each of them has such a
// runner, and takes part in every step, also one for which it has no batch. They agree on each step before it begins,
// where the data does not tell that all have a full batch. A runner that is left by an exception ends those of the
// others. The logs of a batch are this worker's alone: when they are asked for depends on its clock.
class MultiWorkerRunner : public InStepRunner {
 public:
  MultiWorkerRunner(std::shared_ptr<collective::Communicator> workers, std::shared_ptr<ReplicaSet> replicas,
                    std::shared_ptr<Program> program, const WorkerShare& share, const RunnerOptions& options);
  ~MultiWorkerRunner() override;

  void begin_epoch(std::int64_t epoch) override;
  Logs end_epoch() override;
  void gather() override;
  RunSignals agree(const RunSignals& own) override;
  void end_run() override { others_wait_ = false; }
  Position position() const override;

 private:
  bool agree_on_step(bool found) override;
  void run_batch(Execution& execution) override;
  std::int64_t cardinality() const override { return share_.steps; }
  void rewind() override;
  std::string save_data() const override;
  void restore_data(const std::string& state) override;
  bool trains() const { return program_->kind() == Program::Kind::Train; }
  // Takes a batch of which all workers have their full share; false where that is not known beforehand.
  bool take_full_batch(bool found);
  // What each worker has of this step's batch; true where one has something.
  bool exchange_rows(bool found);
  std::int64_t rows_of_worker(int worker) const;
  // Throws where the rows that workers have cannot be of one dataset.
  void check_rows();
  // Checks that all workers have traced the same step, and takes the values of the first one's variables.
  void begin_training();
  // Puts together what workers have of metrics, moving statistics and the like, which every replica has for itself.
  void gather_from_workers() const;

  const std::shared_ptr<collective::Communicator> workers_;
  const WorkerShare share_;
  const RunnerOptions run_options_;
  bool begun_ = false;
  bool found_ = false;            // there is a batch for the step that was agreed on
  std::int64_t passes_ = 0;       // over the data, before this one
  std::int64_t taken_ = 0;        // steps of this pass
  int cut_by_ = -1;               // the worker at which this pass's last batch ended; negative: it has not come
  std::int64_t rows_before_ = 0;  // of this step's batch, those of the workers before this one
  // Of the step, by worker: whether there is a batch, rows, and whether recordings take it.
  std::vector<std::int64_t> header_;
  // For this worker, if it goes: not while all of them check the same, nor when the run is over.
  bool others_wait_;
  const int exceptions_;  // under way when it was made
};

}  // namespace cohort::distribute
