#include "cohort/distribute/strategies/replica_steps.h"

#include <algorithm>
#include <numeric>

#include "cohort/core/error.h"
#include "cohort/distribute/collective/batch_rows.h"
#include "cohort/graph/write_effects.h"

namespace cohort::distribute {
namespace {

// Into memory that the target has, where it is large enough.
void copy_rows(const Tensor& source, std::int64_t first, std::int64_t rows, Tensor& target, Device& device) {
  if (source.rank() == 0) return target.renew_from(source, device);
  if (source.dtype() == DType::String || !source.device().host_readable()) {
    target = source.rows(first, rows).to(device);
    return;
  }
  Shape shape = source.shape();
  const std::size_t bytes_per_row = shape[0] == 0 ? 0 : source.bytes() / static_cast<std::size_t>(shape[0]);
  shape[0] = rows;
  target.renew(source.dtype(), shape, device);
  device.copy_from_host(target.raw(),
                        static_cast<const char*>(source.raw()) + static_cast<std::size_t>(first) * bytes_per_row,
                        static_cast<std::size_t>(rows) * bytes_per_row);
}

}  // namespace

ReplicaSteps::ReplicaSteps(std::shared_ptr<ReplicaSet> replicas, std::shared_ptr<Program> program)
    : set_(std::move(replicas)),
      program_(std::move(program)),
      replicas_(static_cast<std::size_t>(set_->participants())),
      rows_(replicas_.size()) {}

void ReplicaSteps::take_rows(int replica, const Tensors& batch, std::int64_t first, std::int64_t rows) {
  Replica& taker = replicas_[static_cast<std::size_t>(replica)];
  taker.batch.resize(batch.size());
  for (std::size_t i = 0; i < batch.size(); ++i) {
    copy_rows(batch[i], first, rows, taker.batch[i], set_->device(replica));
  }
}

void ReplicaSteps::divide(const Tensors& batch, std::int64_t first, std::int64_t rows) {
  const std::int64_t replicas = set_->size();
  for (int replica = 0; replica < set_->size(); ++replica) {
    const std::int64_t own = rows_[static_cast<std::size_t>(replica)] = rows_of_replica(rows, replicas, replica);
    // One without a row computes with another's, and what comes of it does not count.
    take_rows(replica, batch, own > 0 ? first : 0, std::max(own, std::int64_t{1}));
    first += own;
  }
  show_keeper(batch);
}

void ReplicaSteps::show_keeper(const Tensors& batch) {
  if (set_->participants() > set_->size()) take_rows(set_->size(), batch, 0, 1);
}

void ReplicaSteps::divide(const Tensors& batch) { divide(batch, 0, rows_of_batch(batch)); }

void ReplicaSteps::set_place(std::int64_t first, std::int64_t all) {
  first_row_ = first;
  all_rows_ = all;
}

void ReplicaSteps::give_nothing(const ElementSpec& spec) {
  if (replicas_[0].batch.empty()) {
    for (TensorSpec leaf : spec.flatten()) {
      for (int axis = 0; axis < leaf.shape.rank(); ++axis) {
        if (leaf.shape[axis] == kUnknown || axis == 0) leaf.shape[axis] = 1;
      }
      replicas_[0].batch.push_back(Tensor::full(leaf.shape, 0.0, leaf.dtype, cpu()));
    }
  }
  const Tensors any = replicas_[0].batch;
  for (int replica = 0; replica < set_->size(); ++replica) {
    rows_[static_cast<std::size_t>(replica)] = 0;
    take_rows(replica, any, 0, 1);
  }
  show_keeper(any);
}

void ReplicaSteps::give(int replica, const Tensors& batch) {
  std::int64_t& rows = rows_[static_cast<std::size_t>(replica)];
  rows = batch.empty() ? 0 : rows_of_batch(batch);
  const Tensors& source = batch.empty() ? replicas_[0].batch : batch;
  take_rows(replica, source, 0, batch.empty() ? 1 : rows);
  if (replica == 0) show_keeper(source);
}

const StepGraph& ReplicaSteps::prepare(const ElementSpec& spec) {
  const StepGraph* step = &program_->step(spec);
  if (step != step_) bind_captures(*step);
  step_ = step;
  return *step;
}

void ReplicaSteps::bind_captures(const StepGraph& step) {
  const Graph& graph = *step.traced.graph;
  const std::vector<int> written = written_inputs(graph);
  const auto writes = [&](std::size_t input) {
    return std::find(written.begin(), written.end(), static_cast<int>(input)) != written.end();
  };
  meets_ = std::any_of(step.traced.captures.begin(), step.traced.captures.end(), [](const Tensor& capture) {
    return capture.resource() && std::string_view(capture.resource()->kind()) == "Collective";
  });
  const CentralStep* central = meets_ ? set_->central_step(step.traced) : nullptr;
  std::vector<int> all(graph.inputs.size());
  std::iota(all.begin(), all.end(), 0);
  const std::size_t leaves = static_cast<std::size_t>(step.traced.num_arguments);
  for (int replica = 0; replica < (central ? set_->participants() : set_->size()); ++replica) {
    const CentralPart* part = !central ? nullptr : replica == set_->size() ? &central->update : &central->compute;
    Replica& own = replicas_[static_cast<std::size_t>(replica)];
    own.executables = part ? part->executables.get() : step.executables.get();
    own.outputs.assign(own.executables->graph()->outputs.size(), Tensor());
    own.inputs.clear(), own.leaves.clear();
    for (const int position : part ? part->inputs : all) {
      const std::size_t input = static_cast<std::size_t>(position);
      const bool is_leaf = input < leaves;
      if (is_leaf) own.leaves.emplace_back(own.inputs.size(), input);
      own.inputs.push_back(
          is_leaf ? Tensor()
                  : set_->bind(step.traced.captures[input - leaves], replica, !writes(input), central != nullptr));
    }
  }
}

RandomState ReplicaSteps::random_of(int replica, const RandomState& random) const {
  RandomState own = random;
  own.first_sample += static_cast<std::uint64_t>(first_row_);
  for (int before = 0; before < replica; ++before) {
    own.first_sample += static_cast<std::uint64_t>(rows_[static_cast<std::size_t>(before)]);
  }
  return own;
}

void ReplicaSteps::run_replica(int replica, const RandomState& random) {
  Replica& own = replicas_[static_cast<std::size_t>(replica)];
  for (const auto& [input, leaf] : own.leaves) own.inputs[input] = own.batch[leaf];
  own.executables->run(own.inputs, own.outputs, random, set_->device(replica));
  for (const auto& [input, leaf] : own.leaves) own.inputs[input] = Tensor();
}

Element ReplicaSteps::run(const ElementSpec& spec, const RandomState& random) {
  return program_->eager() ? run_eagerly(spec, random) : (prepare(spec), run_graphs(random));
}

Element ReplicaSteps::run_graphs(const RandomState& random) {
  const auto work = [&](int replica) { run_replica(replica, random_of(replica, random)); };
  set_->run(rows_, meets_, work, all_rows_);
  return joined_outputs(step_->outputs);
}

Element ReplicaSteps::run_eagerly(const ElementSpec& spec, const RandomState& random) {
  ElementSpec structure;  // the same on every replica
  const auto code = [&](int replica) {
    Replica& own = replicas_[static_cast<std::size_t>(replica)];
    const Element result = program_->run_eagerly(spec.with_leaves(own.batch), random_of(replica, random));
    own.outputs = result.flatten();
    if (replica == 0) structure = spec_of(result);
  };
  set_->run_code(rows_, code, all_rows_);
  return joined_outputs(structure);
}

Element ReplicaSteps::joined_outputs(const ElementSpec& structure) const {
  if (program_->kind() != Program::Kind::Predict) return {};
  Tensors outputs;
  for (std::size_t i = 0; i < replicas_[0].outputs.size(); ++i) {
    Tensors parts;
    for (std::size_t k = 0; k < replicas_.size(); ++k) {
      if (rows_[k] > 0) parts.push_back(replicas_[k].outputs[i]);
    }
    outputs.push_back(joined_rows(parts));
  }
  return structure.with_leaves(outputs);
}

}  // namespace cohort::distribute
