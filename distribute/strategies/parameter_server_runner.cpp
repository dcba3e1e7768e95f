#include "cohort/distribute/strategies/parameter_server_runner.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "cohort/core/timeline.h"
#include "cohort/data/auto_shard.h"
#include "cohort/data/iterator_state.h"
#include "cohort/distribute/coordinator/per_worker_dataset.h"

namespace cohort::distribute {
namespace {

// Executions of predict that are scheduled before their results are asked for, for each worker.
constexpr std::int64_t kPredictAhead = 2;
// Executions under way for each worker: those in flight, and as many that wait for it.
constexpr std::int64_t kExecutionsAhead = 6;

std::int64_t sum_of_cardinalities(const std::vector<Dataset>& pipelines) {
  std::int64_t sum = 0;
  for (const Dataset& pipeline : pipelines) {
    const std::int64_t size = pipeline.cardinality();
    if (size == kInfiniteCardinality) return size;
    sum = size == kUnknownCardinality || sum < 0 ? kUnknownCardinality : sum + size;
  }
  return sum;
}

}  // namespace

ParameterServerRunner::ParameterServerRunner(std::shared_ptr<ClusterRuntime> runtime, std::shared_ptr<Program> program,
                                             const RunnerData& data, const RunnerOptions& options)
    : RunnerBase(std::move(program), options), runtime_(std::move(runtime)), data_(data) {
  if (program_->eager()) {
    throw failed_precondition("ParameterServerStrategy", "a model that is compiled without run_eagerly is expected", {},
                              "What runs on workers is a graph.");
  }
  divide_data(pipelines_at_start());
  if (cardinality_ == kInfiniteCardinality && !options.steps_per_epoch) {
    throw invalid_argument("ParameterServerStrategy", "data without an end needs a number of steps",
                           {{"cardinality", "infinite"}}, "Give steps_per_epoch (validation_steps, steps).");
  }
}

std::int64_t ParameterServerRunner::pipelines_at_start() const {
  if (predicts()) return 1;  // outputs have an order
  const std::int64_t workers = runtime_->input_pipelines();
  if (data_.creator) {
    const std::int64_t asked = data_.creator->input_options().num_input_pipelines;
    return asked > 0 ? asked : workers;
  }
  const AutoShardPolicy policy = auto_shard_policy_of(data_.dataset).value_or(AutoShardPolicy::Auto);
  const AutoShardPolicy became = resolve_auto_shard(data_.dataset, policy, workers);
  if (policy == AutoShardPolicy::Auto) say_auto_shard(data_.dataset, became, workers);
  // Divided by elements it is one pipeline, in one machine's order: leases are stretches of it.
  return became == AutoShardPolicy::Data ? 1 : workers;
}

void ParameterServerRunner::divide_data(std::int64_t pipelines) {
  if (data_.creator) {
    pipelines_ = make_pipelines(*data_.creator, runtime_->pipeline_names(pipelines), runtime_->replicas_per_worker());
  } else {
    const bool is_off = auto_shard_policy_of(data_.dataset) == AutoShardPolicy::Off;
    const AutoShardPolicy policy = is_off ? AutoShardPolicy::Off : AutoShardPolicy::File;
    pipelines_.clear();
    for (std::int64_t i = 0; i < pipelines; ++i) {
      pipelines_.push_back(shard_for(data_.dataset, policy, pipelines, i));
    }
  }
  cardinality_ = sum_of_cardinalities(pipelines_);
}

ParameterServerRunner::~ParameterServerRunner() {
  try {
    cancel();
    end_recording();
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
    FunctionDescription function{.graph = step_->traced.graph,
                                 .inputs = {},
                                 .pulls = {0},
                                 .replicas = runtime_->replicas_per_worker(),
                                 .joins_outputs = predicts()};
    for (int leaf = 0; leaf < step_->traced.num_arguments; ++leaf) {
      function.inputs.push_back({.kind = PlacedInput::Kind::Element, .pull = 0, .leaf = leaf});
    }
    for (const Tensor& capture : step_->traced.captures) {
      function.inputs.push_back(PlacedInput::of_capture(capture));
    }
    return function;
  });
  if (!dataset_) dataset_ = runtime_->add_dataset(pipelines_);
}

std::int64_t ParameterServerRunner::elements_left() const {
  return cardinality_ < 0 ? std::numeric_limits<std::int64_t>::max() : cardinality_ - taken_;
}

void ParameterServerRunner::begin_data(bool continues) {
  std::lock_guard lock(shared_->mutex);
  const bool used_up = elements_left() == 0 || !shared_->unserved.empty();
  if (taken_ > 0 && (!continues || used_up)) {
    runtime_->pipelines().rewind(dataset_->number());
    taken_ = 0;
  }
  continues_ = taken_ > 0;
  ahead_ = 0;
  shared_->outputs.clear();
  shared_->unserved.clear();
  shared_->steps_left = 0;
}

void ParameterServerRunner::Shared::finished(const Stretch& asked, ClosureResult& result, bool keep_outputs) {
  std::lock_guard lock(mutex);
  --under_way;
  const Stretch rest{asked.first_step + result.steps, asked.steps - result.steps};
  if (keep_outputs) {
    outputs[asked.first_step] = std::move(result.outputs);
  } else {
    steps_left -= result.steps;
    if (rest.steps > 0) (result.data_ended && result.steps == 0 ? unserved : missing).push_back(rest);
  }
  if (keep_outputs || rest.steps > 0 || under_way == 0 || steps_left <= wake_at) changed.notify_all();
}

void ParameterServerRunner::Shared::failed(const std::exception_ptr& why) {
  std::lock_guard lock(mutex);
  --under_way;
  if (!error) error = why;
  changed.notify_all();
}

void ParameterServerRunner::schedule(const Stretch& stretch) {
  const TimelineSpan span("cluster", "schedule", stretch.first_step);
  prepare();
  Closure closure;
  closure.function = function_;
  closure.group = group_;
  closure.datasets = {dataset_->number()};
  closure.uses = {dataset_};
  closure.steps = stretch.steps;
  closure.may_end = true;
  closure.random = random_;
  closure.random.step = static_cast<std::uint64_t>(stretch.first_step);
  closure.versions = runtime_->connections()->versions();
  const bool keep_outputs = predicts();
  // Workers take closures at their own pace; which outputs belong to which step is settled here.
  if (keep_outputs) closure.leases = {runtime_->pipelines().reserve(dataset_->number(), stretch.steps)};
  closure.done = [shared = shared_, sums = sums_, function = function_, stretch, keep_outputs](ClosureResult& result) {
    try {
      // Who found no element has nothing to add.
      if (result.steps > 0) sums->collect(function->accumulators(), result.accumulated);
    } catch (...) {
      shared->failed(std::current_exception());
      throw;
    }
    shared->finished(stretch, result, keep_outputs);
  };
  closure.failed = [shared = shared_](const std::exception_ptr& error) { shared->failed(error); };
  {
    std::lock_guard lock(shared_->mutex);
    ++shared_->under_way;
  }
  try {
    runtime_->queue().put(std::move(closure));
  } catch (...) {
    std::lock_guard lock(shared_->mutex);
    --shared_->under_way;
    throw;
  }
}

// A pipeline ended in the middle of a closure; others have what it lacked.
void ParameterServerRunner::schedule_missing() {
  std::vector<Stretch> missing;
  {
    std::lock_guard lock(shared_->mutex);
    missing.swap(shared_->missing);
  }
  for (const Stretch& stretch : missing) schedule(stretch);
}

std::int64_t ParameterServerRunner::executions_ahead() const {
  return predicts() ? 0 : kExecutionsAhead * runtime_->connections()->num_workers();
}

Execution ParameterServerRunner::run(std::int64_t first_step, std::int64_t steps) {
  if (predicts()) return run_predict(first_step, steps);
  Execution execution;
  execution.steps = std::min(steps, elements_left());
  execution.data_ended = execution.steps < steps;
  taken_ += execution.steps;
  next_step_ = first_step + execution.steps;
  if (execution.steps == 0) return execution;
  {
    std::lock_guard lock(shared_->mutex);
    shared_->steps_left += execution.steps;
  }
  schedule({first_step, execution.steps});
  return execution;
}

Execution ParameterServerRunner::run_predict(std::int64_t first_step, std::int64_t steps) {
  Execution execution;
  const std::int64_t limit = this->steps().value_or(std::numeric_limits<std::int64_t>::max());
  const std::int64_t most = steps * kPredictAhead * runtime_->connections()->num_workers();
  while (ahead_ < limit && elements_left() > 0 && ahead_ < first_step + most) {
    const std::int64_t next = std::min({steps, limit - ahead_, elements_left()});
    schedule({ahead_, next});
    ahead_ += next;
    taken_ += next;
  }
  if (ahead_ <= first_step) {
    execution.data_ended = true;
    return execution;
  }
  const Tensors outputs = wait_for_outputs(first_step);
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

Tensors ParameterServerRunner::wait_for_outputs(std::int64_t first_step) {
  const TimelineSpan span("cluster", "wait for workers", first_step);
  using namespace std::chrono_literals;
  std::unique_lock lock(shared_->mutex);
  while (!shared_->outputs.contains(first_step) && !shared_->error) shared_->changed.wait_for(lock, 1s);
  if (shared_->error) {
    lock.unlock();
    throw_what_went_wrong();
  }
  Tensors outputs = std::move(shared_->outputs.at(first_step));
  shared_->outputs.erase(first_step);
  return outputs;
}

void ParameterServerRunner::wait_for_all_outputs() {
  using namespace std::chrono_literals;
  std::unique_lock lock(shared_->mutex);
  while (shared_->under_way > 0 && !shared_->error) shared_->changed.wait_for(lock, 1s);
  if (!shared_->error) return;
  lock.unlock();
  throw_what_went_wrong();
}

// The queue knows it best, unless somebody else has come for it.
void ParameterServerRunner::throw_what_went_wrong() {
  runtime_->queue().wait(group_);
  std::lock_guard lock(shared_->mutex);
  std::rethrow_exception(std::exchange(shared_->error, nullptr));
}

StepsDone ParameterServerRunner::wait_until_done(std::int64_t steps, std::chrono::milliseconds longest) {
  // What a predict program has handed over is done, whatever is under way for later.
  if (predicts()) return {.steps = next_step_};
  using Clock = std::chrono::steady_clock;
  const Clock::time_point until = longest.count() > 0 ? Clock::now() + longest : Clock::time_point();
  bool in_time = longest.count() > 0;
  std::unique_lock lock(shared_->mutex);
  for (;;) {
    if (shared_->error) {
      lock.unlock();
      throw_what_went_wrong();
    }
    if (shared_->under_way == 0 && may_start_pass_over()) start_pass_over();
    if (!shared_->missing.empty()) {
      lock.unlock();
      schedule_missing();
      lock.lock();
      continue;
    }
    const StepsDone done{.steps = next_step_ - shared_->steps_left,
                         .data_ended = !shared_->unserved.empty(),
                         .quiet = shared_->under_way == 0};
    if (done.quiet || done.steps >= steps || !in_time) return done;
    shared_->wake_at = next_step_ - steps;
    in_time = shared_->changed.wait_until(lock, until) == std::cv_status::no_timeout;
  }
}

// The epoch before took the very last element, which nobody could know.
bool ParameterServerRunner::may_start_pass_over() const {
  return continues_ && !shared_->unserved.empty() && shared_->steps_left == next_step_;
}

void ParameterServerRunner::start_pass_over() {
  continues_ = false;
  runtime_->pipelines().rewind(dataset_->number());
  taken_ = next_step_;
  shared_->missing.swap(shared_->unserved);
}

void ParameterServerRunner::synchronize() {
  const TimelineSpan span("cluster", "wait for all workers");
  using namespace std::chrono_literals;
  if (!function_) return;
  if (predicts()) wait_for_all_outputs();
  while (!wait_until_done(next_step_, 1s).quiet) {
  }
  sums_->apply();
}

void ParameterServerRunner::cancel() {
  if (!function_) return;
  bool any = false;
  {
    std::lock_guard lock(shared_->mutex);
    shared_->missing.clear();
    any = shared_->under_way > 0;
  }
  if (any) runtime_->queue().cancel(group_);
  sums_->apply();
  std::lock_guard lock(shared_->mutex);
  next_step_ -= std::exchange(shared_->steps_left, 0);
  shared_->missing.clear();
  shared_->unserved.clear();
  shared_->error = nullptr;
}

RunFigures ParameterServerRunner::figures(bool asks) {
  return asks ? runtime_->figures().now() : runtime_->figures().news();
}

void ParameterServerRunner::begin_recording() {
  recording_ = true;
  runtime_->trace().begin();
}

std::vector<TimelineTrack> ParameterServerRunner::end_recording() {
  if (!std::exchange(recording_, false)) return {};
  return runtime_->trace().end();
}

void ParameterServerRunner::read_logs(Logs& logs) {
  sums_->apply();
  RunnerBase::read_logs(logs);
}

// The data's place is that of each pipeline.
std::string ParameterServerRunner::save_data() const {
  std::string state;
  if (!dataset_) return state;
  StateWriter writer(state);
  writer.number(static_cast<std::uint64_t>(taken_));
  const std::vector<Lease> leases = runtime_->pipelines().position(dataset_->number());
  writer.number(leases.size());
  for (const Lease& lease : leases) {
    writer.bytes(runtime_->beginning_of(dataset_->number(), lease.pipeline));
    write_lease(lease, writer);
  }
  return state;
}

void ParameterServerRunner::restore_data(const std::string& state) {
  if (state.empty()) return;
  StateReader reader(state);
  const std::uint64_t taken = reader.number();
  constexpr std::uint64_t kMostPipelines = std::uint64_t{1} << 16;
  const std::uint64_t count = reader.number();
  if (count == 0 || count > kMostPipelines) {
    throw Error(ErrorCode::DataLoss, "ParameterServerStrategy", "a position of 1 to 2^16 pipelines is expected",
                {{"pipelines", count}});
  }
  std::vector<Lease> leases(static_cast<std::size_t>(count));
  std::vector<std::string> beginnings;
  for (std::size_t i = 0; i < leases.size(); ++i) {
    beginnings.emplace_back(reader.bytes());
    leases[i] = read_lease(reader);
    leases[i].pipeline = static_cast<int>(i);
  }
  reader.finish();
  // The data stays divided as it was when the job began, whatever the number of workers now.
  if (leases.size() != pipelines_.size()) divide_data(static_cast<std::int64_t>(count));
  // Those of another dataset would be found by a worker, much later.
  for (std::size_t i = 0; i < leases.size(); ++i) pipelines_[i].make_iterator()->restore(beginnings[i]);
  dataset_ = runtime_->add_dataset(pipelines_, beginnings);
  for (Lease& lease : leases) lease.dataset = dataset_->number();
  runtime_->pipelines().resume(dataset_->number(), leases);
  taken_ = static_cast<std::int64_t>(taken);
}

}  // namespace cohort::distribute
