#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "cohort/distribute/strategies/replica_set.h"
#include "cohort/graph/recorded_steps.h"
#include "cohort/model/fit/program.h"

namespace cohort::distribute {

// Runs a program's step on all replicas at once, each on its rows of a global batch. For one thread.
class ReplicaSteps {
 public:
  ReplicaSteps(std::shared_ptr<ReplicaSet> replicas, std::shared_ptr<Program> program);

  // Gives each replica its part of rows [first, first + rows) of a batch: as even as can be, the first ones get those
  // left over.
  void divide(const Tensors& batch, std::int64_t first, std::int64_t rows);
  // The same for all rows.
  void divide(const Tensors& batch);
  // Gives one replica a batch of its own, or none: then it takes part in the step without a say.
  void give(int replica, const Tensors& batch);
  // Gives no replica anything: they take part in a step of others.
  void give_nothing(const ElementSpec& spec);
  // Says that other workers have rows of the same batch, from the next run on.
  //   first: number of the first one here.   all: how many there are.
  void set_place(std::int64_t first, std::int64_t all);
  // Traces the step for batches like these and binds the replicas' variables to it, unless that was done.
  const StepGraph& prepare(const ElementSpec& spec);
  // Runs the step on what was given, at this place of the run; the outputs of a predict program, rows in order. Where
  // devices record, steps that are like those before may begin as late as at flush().
  //   spec: of a batch.
  Element run(const ElementSpec& spec, const RandomState& random);

  // Says how many steps are run before the next flush(). Steps are recorded from the second time on.
  void expect(std::int64_t steps);
  // Whether such rows of a batch are what the replicas' recordings take.
  bool takes(const Tensors& batch, std::int64_t rows) const;
  // Says whether the next step may be put off, where other workers must do the same; none: it may where it fits.
  void let_record(std::optional<bool> agreed);
  // Begins the steps that were put off.
  void flush();
  // Steps that were begun by recordings so far.
  std::int64_t recorded_steps() const { return recorded_steps_; }

 private:
  // What a replica, or the keeper of variables, computes with.
  struct Replica {
    Tensors batch, inputs, outputs;
    ExecutableCache* executables = nullptr;                   // of its part of the step
    std::vector<std::pair<std::size_t, std::size_t>> leaves;  // inputs that are tensors of the batch, and which
    // What it was given and gets onto its device when it runs: rows [first, first + count) of the tensors or, where the
    // device records, these rows alone.
    Tensors source;
    std::int64_t first = 0, count = 0;
    Specs last_rows;  // of the step before
    Specs taken;      // by the recording
    std::unique_ptr<RecordedSteps> recorded = nullptr;
  };

  void take_rows(int replica, const Tensors& batch, std::int64_t first, std::int64_t rows);
  // The keeper has no rows, but may need a sample to take part.
  void show_keeper(const Tensors& batch);
  void bind_captures(const StepGraph& step);
  // Puts what was given onto the device, where it is not there.
  void load_rows(int replica);
  void release_rows(int replica);
  void run_replica(int replica, const RandomState& random);
  // Whether what was given goes into the recordings.
  bool records_given() const;
  // Where the step that was run is like the one before.
  void record_from_now();
  Element run_graphs(const RandomState& random);
  Element run_eagerly(const ElementSpec& spec, const RandomState& random);
  RandomState random_of(int replica, const RandomState& random) const;
  // What a predict program gave, rows of all replicas in order; of others nothing.
  Element joined_outputs(const ElementSpec& structure) const;

  const std::shared_ptr<ReplicaSet> set_;
  const std::shared_ptr<Program> program_;
  std::vector<Replica> replicas_;
  std::vector<std::int64_t> rows_;  // of each replica
  std::int64_t first_row_ = 0;      // of the first replica in the global batch
  std::optional<std::int64_t> all_rows_;
  const StepGraph* step_ = nullptr;                   // the program's
  bool meets_ = false;                                // replicas meet in the step
  bool gathers_ = false;                              // and put together what each has, on the host
  const bool records_;                                // the devices do
  bool recordable_ = true;                            // so is the step
  std::int64_t executions_ = 0, steps_expected_ = 1;  // executions that have begun; steps of this one
  std::int64_t put_off_ = 0;                          // steps that recordings may not have begun
  std::int64_t recorded_steps_ = 0;
  std::optional<bool> agreed_;
};

}  // namespace cohort::distribute
