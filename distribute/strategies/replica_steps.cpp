#include "cohort/distribute/strategies/replica_steps.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "cohort/core/error.h"
#include "cohort/core/kernel.h"
#include "cohort/core/timeline.h"
#include "cohort/distribute/collective/batch_rows.h"
#include "cohort/distribute/collective/collective_ops.h"
#include "cohort/graph/trace.h"
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

Specs specs_of(const Tensors& tensors) {
  Specs specs;
  for (const Tensor& tensor : tensors) specs.push_back(tensor.spec());
  return specs;
}

// A keeper of variables takes its part of every step by itself.
bool all_record(const ReplicaSet& set) {
  if (set.participants() > set.size()) return false;
  for (int replica = 0; replica < set.size(); ++replica) {
    if (!set.device(replica).can_record()) return false;
  }
  return true;
}

}  // namespace

ReplicaSteps::ReplicaSteps(std::shared_ptr<ReplicaSet> replicas, std::shared_ptr<Program> program)
    : set_(std::move(replicas)),
      program_(std::move(program)),
      replicas_(static_cast<std::size_t>(set_->participants())),
      rows_(replicas_.size()),
      records_(all_record(*set_)) {}

void ReplicaSteps::take_rows(int replica, const Tensors& batch, std::int64_t first, std::int64_t rows) {
  Replica& taker = replicas_[static_cast<std::size_t>(replica)];
  taker.batch.resize(batch.size());
  taker.source = batch, taker.first = first, taker.count = rows;
  if (!records_) return;
  for (Tensor& leaf : taker.source) {
    if (leaf.rank() > 0) leaf = leaf.rows(first, rows);
  }
}

void ReplicaSteps::release_rows(int replica) {
  Tensors& source = replicas_[static_cast<std::size_t>(replica)].source;
  std::fill(source.begin(), source.end(), Tensor());
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
  Tensors any = replicas_[0].batch;
  if (any.empty() || !any[0].defined()) {
    any.clear();
    for (TensorSpec leaf : spec.flatten()) {
      for (int axis = 0; axis < leaf.shape.rank(); ++axis) {
        if (leaf.shape[axis] == kUnknown || axis == 0) leaf.shape[axis] = 1;
      }
      any.push_back(Tensor::full(leaf.shape, 0.0, leaf.dtype, cpu()));
    }
  }
  for (int replica = 0; replica < set_->size(); ++replica) {
    rows_[static_cast<std::size_t>(replica)] = 0;
    take_rows(replica, any, 0, 1);
  }
  show_keeper(any);
}

void ReplicaSteps::give(int replica, const Tensors& batch) {
  std::int64_t& rows = rows_[static_cast<std::size_t>(replica)];
  rows = batch.empty() ? 0 : rows_of_batch(batch);
  const Tensors source = !batch.empty() ? batch : records_ ? replicas_[0].source : replicas_[0].batch;
  take_rows(replica, source, 0, batch.empty() ? 1 : rows);
  if (replica == 0) show_keeper(source);
  if (records_) return;
  load_rows(replica);
  release_rows(replica);
  if (replica > 0 || set_->participants() == set_->size()) return;
  load_rows(set_->size());
  release_rows(set_->size());
}

const StepGraph& ReplicaSteps::prepare(const ElementSpec& spec) {
  const StepGraph* step = &program_->step(spec);
  if (step != step_) {
    flush();
    bind_captures(*step);
  }
  step_ = step;
  return *step;
}

void ReplicaSteps::bind_captures(const StepGraph& step) {
  const Graph& graph = *step.traced.graph;
  const std::size_t leaves = static_cast<std::size_t>(step.traced.num_arguments);
  const std::vector<int> written = written_inputs(graph);
  const auto writes = [&](std::size_t input) {
    return std::find(written.begin(), written.end(), static_cast<int>(input)) != written.end();
  };
  meets_ = std::any_of(step.traced.captures.begin(), step.traced.captures.end(), [](const Tensor& capture) {
    return capture.resource() && std::string_view(capture.resource()->kind()) == "Collective";
  });
  gathers_ = gathers_replicas(graph);
  // Of sums that replicas put together in the step, each brings its own part.
  const auto reads_whole = [&](std::size_t input) {
    const auto* variable = dynamic_cast<const LocalVariable*>(step.traced.captures[input - leaves].resource().get());
    const bool summed = variable && variable->options().aggregation == Aggregation::Sum;
    return !writes(input) && !(gathers_ && summed);
  };
  const CentralStep* central = meets_ ? set_->central_step(step.traced) : nullptr;
  std::vector<int> all(graph.inputs.size());
  std::iota(all.begin(), all.end(), 0);
  for (int replica = 0; replica < (central ? set_->participants() : set_->size()); ++replica) {
    const CentralPart* part = !central ? nullptr : replica == set_->size() ? &central->update : &central->compute;
    Replica& own = replicas_[static_cast<std::size_t>(replica)];
    own.recorded = nullptr;
    own.last_rows.clear();
    own.executables = part ? part->executables.get() : step.executables.get();
    own.outputs.assign(own.executables->graph()->outputs.size(), Tensor());
    own.inputs.clear(), own.leaves.clear();
    for (const int position : part ? part->inputs : all) {
      const std::size_t input = static_cast<std::size_t>(position);
      const bool is_leaf = input < leaves;
      if (is_leaf) own.leaves.emplace_back(own.inputs.size(), input);
      own.inputs.push_back(
          is_leaf ? Tensor()
                  : set_->bind(step.traced.captures[input - leaves], replica, reads_whole(input), central != nullptr));
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

void ReplicaSteps::load_rows(int replica) {
  Replica& own = replicas_[static_cast<std::size_t>(replica)];
  for (std::size_t i = 0; i < own.source.size(); ++i) {
    if (!own.source[i].defined()) continue;
    if (records_) {
      own.batch[i].renew_from(own.source[i], set_->device(replica));
    } else {
      copy_rows(own.source[i], own.first, own.count, own.batch[i], set_->device(replica));
    }
  }
}

void ReplicaSteps::run_replica(int replica, const RandomState& random) {
  Replica& own = replicas_[static_cast<std::size_t>(replica)];
  load_rows(replica);
  for (const auto& [input, leaf] : own.leaves) own.inputs[input] = own.batch[leaf];
  own.executables->run(own.inputs, own.outputs, random, set_->device(replica));
  for (const auto& [input, leaf] : own.leaves) own.inputs[input] = Tensor();
}

Element ReplicaSteps::run(const ElementSpec& spec, const RandomState& random) {
  Element outputs = program_->eager() ? run_eagerly(spec, random) : (prepare(spec), run_graphs(random));
  // Whoever makes the batches may use their memory again.
  for (int replica = 0; replica < set_->participants(); ++replica) release_rows(replica);
  return outputs;
}

Element ReplicaSteps::run_graphs(const RandomState& random) {
  const bool recorded = agreed_ ? *agreed_ : records_given();
  if (recorded) {
    const auto add = [&](int replica) {
      Replica& own = replicas_[static_cast<std::size_t>(replica)];
      own.recorded->add(own.source, random_of(replica, random));
    };
    set_->run(rows_, meets_, add, all_rows_);
    ++put_off_;
    ++recorded_steps_;
    return {};
  }
  flush();
  const auto work = [&](int replica) { run_replica(replica, random_of(replica, random)); };
  set_->run(rows_, meets_, work, all_rows_);
  if (records_) record_from_now();
  return joined_outputs(step_->outputs);
}

// Workers that ask one another put the same steps off; before they do, others may differ.
void ReplicaSteps::let_record(std::optional<bool> agreed) {
  if (agreed_.has_value() != agreed.has_value()) flush();
  agreed_ = agreed;
}

void ReplicaSteps::expect(std::int64_t steps) {
  ++executions_;
  steps_expected_ = steps;
}

// While the thread has a timeline, the time of each kernel is of interest.
bool ReplicaSteps::takes(const Tensors& batch, std::int64_t rows) const {
  if (!replicas_[0].recorded || Timeline::current()) return false;
  for (int replica = 0; replica < set_->size(); ++replica) {
    const Specs& taken = replicas_[static_cast<std::size_t>(replica)].taken;
    const std::int64_t own = rows_of_replica(rows, set_->size(), replica);
    if (own == 0 || taken.size() != batch.size()) return false;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      TensorSpec spec = batch[i].spec();
      if (spec.shape.rank() > 0) spec.shape[0] = own;
      if (spec != taken[i]) return false;
    }
  }
  return true;
}

bool ReplicaSteps::records_given() const {
  if (!replicas_[0].recorded || Timeline::current()) return false;
  for (std::size_t i = 0; i < replicas_.size(); ++i) {
    if (rows_[i] == 0 || !replicas_[i].recorded->takes(replicas_[i].source)) return false;
  }
  return true;
}

// The first steps load and set up what must not be recorded.
void ReplicaSteps::record_from_now() {
  bool like_before = true, known = true;
  for (std::size_t i = 0; i < replicas_.size(); ++i) {
    Replica& own = replicas_[i];
    Specs specs = specs_of(own.source);
    like_before = like_before && rows_[i] > 0 && specs == own.last_rows;
    known = known && own.recorded && specs == own.taken;
    own.last_rows = std::move(specs);
  }
  if (!like_before || known || !recordable_ || executions_ < 2) return;
  if (program_->kind() == Program::Kind::Predict) return;
  for (int replica = 0; replica < set_->size(); ++replica) {
    Replica& own = replicas_[static_cast<std::size_t>(replica)];
    Device& device = set_->device(replica);
    // On a GPU's kernels the host's meetings are no part of a stream.
    const bool reduces = !meets_ || (set_->devices_reduce() && !gathers_) || device.kernel_type() == kCPU;
    for (std::size_t i = 0; i < own.batch.size(); ++i) own.inputs[i] = own.batch[i];
    const std::span captures = std::span<const Tensor>(own.inputs).subspan(own.batch.size());
    own.recorded = reduces ? RecordedSteps::make(step_->executables->specialize(own.inputs, device), device,
                                                 own.last_rows, captures, steps_expected_)
                           : nullptr;
    own.taken = own.last_rows;
    for (std::size_t i = 0; i < own.batch.size(); ++i) own.inputs[i] = Tensor();
    recordable_ = recordable_ && own.recorded;
  }
  if (recordable_) return;
  for (Replica& replica : replicas_) replica.recorded = nullptr;
}

void ReplicaSteps::flush() {
  if (std::exchange(put_off_, 0) == 0) return;
  set_->finish([&](int replica) { replicas_[static_cast<std::size_t>(replica)].recorded->flush(); });
}

Element ReplicaSteps::run_eagerly(const ElementSpec& spec, const RandomState& random) {
  ElementSpec structure;  // the same on every replica
  const auto code = [&](int replica) {
    Replica& own = replicas_[static_cast<std::size_t>(replica)];
    load_rows(replica);
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
