#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "cohort/distribute/strategies/replica_set.h"
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
  // Runs the step on what was given, at this place of the run; the outputs of a predict program, rows in order.
  //   spec: of a batch.
  Element run(const ElementSpec& spec, const RandomState& random);

 private:
  // What a replica, or the keeper of variables, computes with.
  struct Replica {
    Tensors batch, inputs, outputs;
    ExecutableCache* executables = nullptr;                   // of its part of the step
    std::vector<std::pair<std::size_t, std::size_t>> leaves;  // inputs that are tensors of the batch, and which
  };

  void take_rows(int replica, const Tensors& batch, std::int64_t first, std::int64_t rows);
  // The keeper has no rows, but may need a sample to take part.
  void show_keeper(const Tensors& batch);
  void bind_captures(const StepGraph& step);
  void run_replica(int replica, const RandomState& random);
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
  const StepGraph* step_ = nullptr;  // the program's
  bool meets_ = false;               // replicas meet in the step
};

}  // namespace cohort::distribute
