#include "cohort/distribute/strategies/parameter_server_runner.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "cohort/core/timeline.h"
#include "cohort/data/iterator_state.h"
#include "cohort/distribute/coordinator/per_worker_dataset.h"

namespace cohort::distribute {
namespace {

// Executions of predict that are scheduled before their results are asked for, for each worker.
constexpr std::int64_t kPredictAhead = 2;

std::int64_t sum_of_cardinalities(const std::vector<Dataset>& pipelines) {
  std::int64_t sum = 0;
  for (const Dataset& pipeline : pipelines) {
    if (pipeline.cardinality() < 0) return pipeline.cardinality();
    sum += pipeline.cardinality();
  }
  return sum;
}

}  // namespace

ParameterServerRunner::ParameterServerRunner(std::shared_ptr<ClusterRuntime> runtime, std::shared_ptr<Program> program,
                                             const RunnerData& data, const RunnerOptions& options)
    : RunnerBase(std::move(program), options), runtime_(std::move(runtime)) {
  if (program_->eager()) {
    throw failed_precondition("ParameterServerStrategy", "a model that is compiled without run_eagerly is expected", {},
                              "What runs on workers is a graph.");
  }
  if (!data.creator) {
    pipelines_ = {data.dataset};  // one for all workers
  } else if (predicts()) {
    pipelines_ = {(*data.creator)(InputContext{})};  // outputs have an order
  } else {
    pipelines_ = make_pipelines(*data.creator, runtime_->connections()->worker_names());
  }
  cardinality_ = sum_of_cardinalities(pipelines_);
  if (cardinality_ < 0 && !options.steps_per_epoch) {
    throw invalid_argument("ParameterServerStrategy", "data without an end needs a number of steps",
                           {{"cardinality", cardinality_ == kInfiniteCardinality ? "infinite" : "unknown"}},
                           "Give steps_per_epoch (validation_steps, steps).");
  }
}

ParameterServerRunner::~ParameterServerRunner() {
  try {
    cancel();
  } catch (const std::exception&) {  // whoever waited for the work has been told
  }
}

void ParameterServerRunner::trace_step() {
  if (!step_) step_ = &program_->step(pipelines_[0].element_spec());
}

// Not before the first execution: callbacks may change the model until then.
void ParameterServerRunner::prepare() {
  if (function_) return;
  trace_step();
  function_ = runtime_->place(step_->traced.graph, [&] {
    FunctionDescription function{.graph = step_->traced.graph, .inputs = {}, .pulls = {0}};
    for (int leaf = 0; leaf < step_->traced.num_arguments; ++leaf) {
      function.inputs.push_back({.kind = PlacedInput::Kind::Element, .pull = 0, .leaf = leaf});
    }
    for (const Tensor& capture : step_->traced.captures) {
      function.inputs.push_back({.kind = PlacedInput::Kind::Resource, .resource = capture});
    }
    return function;
  });
  if (dataset_ < 0) dataset_ = runtime_->add_dataset(pipelines_);
}

std::int64_t ParameterServerRunner::elements_left() const {
  return cardinality_ < 0 ? std::numeric_limits<std::int64_t>::max() : cardinality_ - taken_;
}

void ParameterServerRunner::begin_data(bool continues) {
  if (taken_ > 0 && (!continues || elements_left() == 0)) {
    runtime_->pipelines().rewind(dataset_);
    taken_ = 0;
  }
  ahead_ = 0;
}

void ParameterServerRunner::schedule(std::int64_t first_step, std::int64_t steps) {
  const TimelineSpan span("cluster", "schedule", first_step);
  prepare();
  Closure closure;
  closure.function = function_;
  closure.datasets = {dataset_};
  closure.steps = steps;
  closure.may_end = true;
  closure.random = random_;
  closure.random.step = static_cast<std::uint64_t>(first_step);
  closure.versions = runtime_->connections()->versions();
  {
    std::lock_guard lock(shared_->mutex);
    shared_->under_way.insert(first_step);
  }
  const bool keep_outputs = predicts();
  // Workers take closures at their own pace; which outputs belong to which step is settled here.
  if (keep_outputs) closure.leases = {runtime_->pipelines().reserve(dataset_, steps)};
  closure.done = [shared = shared_, sums = sums_, function = function_, first_step, steps,
                  keep_outputs](ClosureResult& result) {
    sums->collect(function->accumulators(), result.accumulated);
    std::lock_guard lock(shared->mutex);
    if (result.steps < steps) shared->missing.emplace_back(first_step + result.steps, steps - result.steps);
    if (keep_outputs) shared->outputs[first_step] = std::move(result.outputs);
    shared->under_way.erase(first_step);
    shared->changed.notify_all();
  };
  closure.failed = [shared = shared_, first_step](const std::exception_ptr&) {
    std::lock_guard lock(shared->mutex);
    shared->failed = true;
    shared->under_way.erase(first_step);
    shared->changed.notify_all();
  };
  try {
    runtime_->queue().put(std::move(closure));
  } catch (...) {
    std::lock_guard lock(shared_->mutex);
    shared_->under_way.erase(first_step);
    throw;
  }
}

// A pipeline ended in the middle of a closure; others have what it lacked.
void ParameterServerRunner::schedule_missing() {
  for (;;) {
    std::pair<std::int64_t, std::int64_t> missing;
    {
      std::lock_guard lock(shared_->mutex);
      if (shared_->missing.empty()) return;
      missing = shared_->missing.back();
      shared_->missing.pop_back();
    }
    schedule(missing.first, missing.second);
  }
}

Execution ParameterServerRunner::run(std::int64_t first_step, std::int64_t steps) {
  if (predicts()) return run_predict(first_step, steps);
  Execution execution{.runner = this, .ticket = first_step};
  execution.steps = std::min(steps, elements_left());
  execution.data_ended = execution.steps < steps;
  if (execution.steps > 0) schedule(first_step, execution.steps);
  taken_ += execution.steps;
  next_step_ = first_step + execution.steps;
  schedule_missing();
  return execution;
}

Execution ParameterServerRunner::run_predict(std::int64_t first_step, std::int64_t steps) {
  Execution execution{.runner = this, .ticket = first_step};
  const std::int64_t limit = *this->steps();
  const std::int64_t most = steps * kPredictAhead * runtime_->connections()->num_workers();
  while (ahead_ < limit && elements_left() > 0 && ahead_ < first_step + most) {
    const std::int64_t next = std::min({steps, limit - ahead_, elements_left()});
    schedule(ahead_, next);
    ahead_ += next;
    taken_ += next;
  }
  if (ahead_ <= first_step) {
    execution.data_ended = true;
    return execution;
  }
  wait_for(first_step);
  Tensors outputs;
  {
    std::lock_guard lock(shared_->mutex);
    outputs = std::move(shared_->outputs.at(first_step));
    shared_->outputs.erase(first_step);
  }
  const auto leaves = static_cast<std::size_t>(function_->num_outputs());
  for (std::size_t i = 0; i + leaves <= outputs.size(); i += leaves) {
    Tensors own(outputs.begin() + static_cast<std::ptrdiff_t>(i),
                outputs.begin() + static_cast<std::ptrdiff_t>(i + leaves));
    for (Tensor& leaf : own) leaf = leaf.to(default_device());
    execution.outputs.push_back(step_->outputs.with_leaves(own));
  }
  execution.steps = static_cast<std::int64_t>(execution.outputs.size());
  execution.data_ended = execution.steps < steps;
  next_step_ = first_step + execution.steps;
  return execution;
}

void ParameterServerRunner::wait_for(std::int64_t first_step) {
  const TimelineSpan span("cluster", "wait for workers", first_step);
  using namespace std::chrono_literals;
  std::unique_lock lock(shared_->mutex);
  while (shared_->under_way.contains(first_step) && !shared_->failed) shared_->changed.wait_for(lock, 1s);
  if (!shared_->failed) return;
  shared_->failed = false;
  lock.unlock();
  runtime_->queue().wait();  // throws what went wrong
  throw internal_error("ParameterServerStrategy", "a closure that failed must say why");
}

void ParameterServerRunner::synchronize() {
  const TimelineSpan span("cluster", "wait for all workers");
  if (!function_) return;
  for (;;) {
    runtime_->queue().wait();
    {
      std::lock_guard lock(shared_->mutex);
      if (shared_->missing.empty()) break;
    }
    schedule_missing();
  }
  sums_->apply();
}

void ParameterServerRunner::cancel() {
  if (!function_) return;
  {
    std::lock_guard lock(shared_->mutex);
    shared_->missing.clear();
    if (shared_->under_way.empty()) return;
  }
  runtime_->queue().cancel();
  sums_->apply();
  std::lock_guard lock(shared_->mutex);
  shared_->failed = false;
  shared_->missing.clear();
}

void ParameterServerRunner::read_logs(std::int64_t ticket, Logs& logs) {
  if (!predicts()) {
    wait_for(ticket);
    sums_->apply();
  }
  RunnerBase::read_logs(ticket, logs);
}

// The data's place is that of each pipeline.
std::string ParameterServerRunner::save_data() const {
  std::string state;
  if (dataset_ < 0) return state;
  StateWriter writer(state);
  writer.number(static_cast<std::uint64_t>(taken_));
  const std::vector<Lease> leases = runtime_->pipelines().position(dataset_);
  writer.number(leases.size());
  for (const Lease& lease : leases) {
    writer.bytes(runtime_->beginning_of(dataset_, lease.pipeline));
    write_lease(lease, writer);
  }
  return state;
}

void ParameterServerRunner::restore_data(const std::string& state) {
  if (state.empty()) return;
  StateReader reader(state);
  const std::uint64_t taken = reader.number();
  std::vector<Lease> leases(std::min<std::uint64_t>(reader.number(), pipelines_.size() + 1));
  std::vector<std::string> beginnings;
  for (std::size_t i = 0; i < leases.size(); ++i) {
    beginnings.emplace_back(reader.bytes());
    leases[i] = read_lease(reader);
    leases[i].pipeline = static_cast<int>(i);
  }
  reader.finish();
  // Those of another dataset would be found by a worker, much later.
  for (std::size_t i = 0; i < std::min(leases.size(), pipelines_.size()); ++i) {
    pipelines_[i].make_iterator()->restore(beginnings[i]);
  }
  dataset_ = runtime_->add_dataset(pipelines_, beginnings);
  for (Lease& lease : leases) lease.dataset = dataset_;
  runtime_->pipelines().resume(dataset_, leases);
  taken_ = static_cast<std::int64_t>(taken);
}

}  // namespace cohort::distribute
