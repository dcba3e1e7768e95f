#include "cohort/distribute/worker/closure_runner.h"

#include <algorithm>
#include <numeric>

#include "cohort/core/text.h"
#include "cohort/core/timeline.h"
#include "cohort/distribute/collective/batch_rows.h"
#include "cohort/distribute/protocol/lease.h"
#include "cohort/distribute/protocol/message_flags.h"
#include "cohort/distribute/protocol/typed_call.h"
#include "cohort/distribute/worker/applied_bundles.h"
#include "cohort/distribute/worker/lane_results.h"

namespace cohort::distribute {
namespace {

constexpr std::size_t kResultsKept = 8;

void raise_to(std::atomic<std::uint64_t>& number, std::uint64_t least) {
  std::uint64_t before = number.load();
  while (before < least && !number.compare_exchange_weak(before, least)) {
  }
}

}  // namespace

// What a running closure needs from step to step.
struct ClosureRunner::Run {
  explicit Run(const Request<Method::RunClosure>& request) : head(request.head), closure(request.metadata) {
    random = {.seed = closure.seed(), .epoch = closure.epoch(), .step = closure.step()};
  }
  Head head;
  const proto::ClosureProto& closure;
  RandomState random;
  std::vector<std::shared_ptr<Pipeline>> pipelines;
  bool data_ended = false;
  Tensors element;
};

ClosureRunner::ClosureRunner(ConstantStore& constants, Pipelines& pipelines, std::vector<std::string> ps_addresses,
                             std::uint64_t job, std::uint64_t incarnation, PsLinkOptions options,
                             const std::vector<Device*>& devices, int threads, std::shared_ptr<MemoryBudget> memory)
    : constants_(constants),
      pipelines_(pipelines),
      ps_addresses_(std::move(ps_addresses)),
      job_(job),
      incarnation_(incarnation),
      memory_(std::move(memory)),
      ps_calls_(job, incarnation, std::move(options),
                // A ps that ends at the same time is not waited for.
                {.has_given_up = [this] { return running_ != 0 && (leaving_ || is_cancelled(current_)); },
                 .stop_if_cancelled = [this] { stop_if_cancelled(current_); }}),
      devices_(devices, threads) {}

void ClosureRunner::reach_ps(const Request<Method::ReachPs>&, Reply<Method::ReachPs>&) {
  std::lock_guard lock(mutex_);
  ps_calls_.reach_all();
}

std::shared_ptr<Replica> ClosureRunner::find_replica(const std::string& name, int ps, const TensorSpec& spec) {
  std::shared_ptr<Replica> replica = replicas_[name].lock();
  if (!replica) {
    replica = std::make_shared<Replica>(Replica{.ps = ps, .copies = {}, .spec = spec});
    const auto has_own = [&](int i) { return i == 0 || devices_.copies(i) || devices_.copies(0); };
    std::uint64_t copies = 0;
    for (int i = 0; i < devices_.size(); ++i) copies += has_own(i) ? 1 : 0;
    replica->memory = memory_->reserve(name, copies * bytes_of_variable(name, spec), !devices_.copies(0));
    for (int i = 0; i < devices_.size(); ++i) {
      // What the host reads lies there once, whenever a value comes.
      const Tensor nothing = has_own(i) ? Tensor::full(spec.shape, 0.0, spec.dtype, devices_.device(i))
                                        : seen_from(replica->copies[0].variable->shared_value(), devices_.device(i));
      const auto variable =
          std::make_shared<LocalVariable>(nothing, VariableOptions{.name = name, .dtype = spec.dtype});
      replica->copies.push_back({.variable = variable, .handle = Tensor::of_resource(variable)});
      replica->bytes = nothing.bytes();
    }
    replicas_[name] = replica;
  }
  if (replica->ps != ps || replica->spec != spec) {
    throw invalid_argument("Server", "a variable must keep its place, type and shape",
                           {{"variable", name}, {"spec", spec}, {"server", ps}});
  }
  return replica;
}

void ClosureRunner::register_function(const Request<Method::RegisterWorker>& request, Reply<Method::RegisterWorker>&) {
  const proto::RegisterWorkerProto& from = request.metadata;
  std::vector<std::string> servers;
  for (const proto::TaskProto& ps : from.ps()) {
    servers.push_back(ps.address());
    if (std::find(ps_addresses_.begin(), ps_addresses_.end(), ps.address()) != ps_addresses_.end()) continue;
    throw invalid_argument("Server", "a function's servers must be those of this task's cluster",
                           {{"server", ps.address()}, {"servers", "[" + join(ps_addresses_) + "]"}},
                           "Give every task the same cluster.");
  }
  HeldConstants constants = constants_.take(from.constants(), request.parts);
  std::lock_guard lock(mutex_);
  drop_released();
  devices_.follow_default();
  auto function = make_worker_function(
      from, constants.table, devices_,
      [this](const std::string& name, int ps, const TensorSpec& spec) { return find_replica(name, ps, spec); });
  function->constants = std::move(constants);
  ps_calls_.set_servers(servers);
  functions_.insert_or_assign(request.head.function, std::move(function));
}

void ClosureRunner::release(const proto::ReleaseProto& releases) {
  std::lock_guard lock(released_mutex_);
  released_.insert(released_.end(), releases.functions().begin(), releases.functions().end());
}

void ClosureRunner::release_all() {
  std::lock_guard lock(released_mutex_);
  released_all_ = true;
}

void ClosureRunner::drop_released() {
  bool all = false;
  std::vector<std::uint64_t> released;
  {
    std::lock_guard lock(released_mutex_);
    if (!released_all_ && released_.empty()) return;
    all = std::exchange(released_all_, false);
    released.swap(released_);
  }
  if (all) functions_.clear();
  for (const std::uint64_t function : released) functions_.erase(function);
  std::erase_if(replicas_, [](const auto& entry) { return entry.second.expired(); });
}

void ClosureRunner::cancel(const Request<Method::Cancel>& request, Reply<Method::Cancel>&) {
  begin_epoch(request.head.epoch);
}

void ClosureRunner::progress(const Request<Method::Progress>&, Reply<Method::Progress>& reply) {
  stop_if_leaving();  // who asks would give it work
  reply.head.closure = running_.load(std::memory_order_relaxed);
  reply.head.step = steps_begun_.load(std::memory_order_relaxed);
}

void ClosureRunner::describe(proto::TaskStatusProto& status) const {
  status.set_running(running_.load(std::memory_order_relaxed));
  status.set_steps(steps_begun());
  status.set_step_nanoseconds(step_nanoseconds_.get());
  status.set_bundles(status.bundles() + bundles_.get());
  status.set_stale_versions(stale_versions_.get());
  status.set_most_stale(most_stale_.get());
  ps_calls_.describe(status);
}

void ClosureRunner::count_step_time(std::chrono::nanoseconds time, std::int64_t steps) {
  if (steps > 0) step_nanoseconds_.follow(static_cast<std::uint64_t>(time.count() / steps));
}

// What others have pushed between the answer that brought the replicas and this bundle's turn.
void ClosureRunner::count_staleness(const WorkerFunction::Exchange& exchange) {
  const std::uint64_t had = exchange.request.head.version, own = exchange.request.head.round + std::uint64_t{1};
  const std::uint64_t now = exchange.reply.head.version;
  bundles_.add_alone(1);
  if (had == 0 || now <= had + own) return;
  stale_versions_.add_alone(now - had - own);
  most_stale_.raise_to(now - had - own);
}

void ClosureRunner::begin_epoch(std::uint64_t epoch) {
  raise_to(newest_epoch_, epoch);
  raise_to(epoch_, epoch);
}

bool ClosureRunner::is_cancelled(const Head& head) const {
  return ended_.load(std::memory_order_relaxed) || epoch_.load(std::memory_order_relaxed) > head.epoch;
}

void ClosureRunner::stop_if_leaving() const {
  if (!leaving_) return;
  throw Error(ErrorCode::Unavailable, "Server", "a worker that stays is expected", {}, "It is being stopped.");
}

void ClosureRunner::stop_if_cancelled(const Head& head) const {
  if (!is_cancelled(head)) return;
  throw Error(ErrorCode::Cancelled, "Server", "a closure was cancelled", {{"closure", head.closure}});
}

void ClosureRunner::run(const Request<Method::RunClosure>& request, Reply<Method::RunClosure>& reply) {
  std::lock_guard lock(mutex_);
  const auto known = std::find_if(finished_.begin(), finished_.end(),
                                  [&](const Finished& result) { return result.closure == request.head.closure; });
  if (known != finished_.end()) {
    reply.metadata = *known->metadata;
    reply.parts = known->parts;
    return;
  }
  struct Running {
    Running(std::atomic<std::uint64_t>& which, std::uint64_t closure) : which(which) { which = closure; }
    ~Running() { which = 0; }
    std::atomic<std::uint64_t>& which;
  } running(running_, request.head.closure);
  // Who leaves looks at what runs when this can be seen.
  stop_if_leaving();
  current_ = request.head;
  raise_to(newest_epoch_, request.head.epoch);
  drop_released();
  WorkerFunction& function = find_function(request.head.function);
  stop_if_cancelled(request.head);
  Run run(request);
  devices_.follow_default();
  const TimelineSpan span("cluster", "closure", static_cast<std::int64_t>(run.closure.step()), request.head.closure);
  const auto started = std::chrono::steady_clock::now();
  begin_closure(function, request.parts, run);
  // Asking a server that is lost takes its time.
  stop_if_cancelled(request.head);
  refresh_replicas(function, run);

  Tensors outputs;
  std::int64_t step = 0;
  for (; step < run.closure.steps() && !run.data_ended; ++step) {
    stop_if_cancelled(request.head);
    steps_begun_.fetch_add(1, std::memory_order_relaxed);
    run.head.step = static_cast<std::uint64_t>(step);
    run.random.step = run.closure.step() + run.head.step;
    run.data_ended = !take_elements(function, run);
    if (run.data_ended) break;
    run_step(function, run);
    add_outputs(function, devices_, outputs);
  }
  function.drop_elements();
  const std::chrono::nanoseconds time = std::chrono::steady_clock::now() - started;
  count_step_time(time, step);
  reply.metadata.set_nanoseconds(static_cast<std::uint64_t>(time.count()));
  reply.metadata.set_steps(step);
  reply.metadata.set_data_ended(run.data_ended);
  for (const auto& pipeline : run.pipelines) reply.metadata.add_states(pipeline->save());
  reply.parts.clear();
  add_accumulators(function, devices_, reply.parts);
  reply.metadata.set_accumulated(static_cast<int>(reply.parts.size()));
  reply.parts.insert(reply.parts.end(), outputs.begin(), outputs.end());
  if (finished_.size() == kResultsKept) finished_.pop_front();
  finished_.push_back({request.head.closure, std::make_shared<proto::ClosureResultProto>(reply.metadata), reply.parts});
}

WorkerFunction& ClosureRunner::find_function(std::uint64_t handle) const {
  const auto found = functions_.find(handle);
  if (found == functions_.end()) {
    throw not_found("Server", "a function that was registered on this task is expected", {{"function", handle}});
  }
  return *found->second;
}

// Binds the arguments, sets accumulators to zero and pipelines to the beginning of their leases.
void ClosureRunner::begin_closure(WorkerFunction& function, const Tensors& arguments, Run& run) {
  using Kind = WorkerFunction::Input::Kind;
  if (static_cast<std::uint64_t>(run.closure.steps()) > AppliedBundles::kMostSteps) {
    throw invalid_argument("Server", "a closure has at most 2^20 steps", {{"steps", run.closure.steps()}},
                           "Ask for fewer steps_per_execution.");
  }
  for (std::size_t number = 0; number < function.lanes.size(); ++number) {
    WorkerFunction::Lane& lane = function.lanes[number];
    std::size_t next = 0;
    for (std::size_t i = 0; i < function.inputs.size(); ++i) {
      const WorkerFunction::Input& input = function.inputs[i];
      if (input.kind == Kind::Argument) {
        if (next == arguments.size()) {
          throw invalid_argument("Server", "a closure must bring its function's arguments",
                                 {{"arguments", arguments.size()}});
        }
        lane.bound[i] = placed(arguments[next++], number);
      }
    }
  }
  zero_accumulators(function);
  // Where no element says otherwise all of them have as much to say.
  devices_.divide(devices_.size());
  for (const proto::LeaseProto& from : run.closure.leases()) {
    const Lease lease = read_lease(from);
    run.pipelines.push_back(pipelines_.find(lease.dataset, lease.pipeline));
    run.data_ended |= !run.pipelines.back()->seek(lease, [&] { stop_if_cancelled(run.head); });
  }
  for (int iterator : function.pulls) {
    if (iterator < 0 || iterator >= static_cast<int>(run.pipelines.size())) {
      throw invalid_argument("Server", "a lease for each iterator is expected",
                             {{"leases", run.pipelines.size()}, {"iterator", iterator}});
    }
  }
}

Head ClosureRunner::exchange_head(const Run& run) const {
  Head head = run.head;
  head.job = job_;
  head.incarnation = incarnation_;
  return head;
}

// A replica that came with the reply to this worker's last push will do, unless the chief has written since.
void ClosureRunner::refresh_replicas(WorkerFunction& function, Run& run) {
  for (WorkerFunction::Pull& pull : function.ps_pulls) {
    const std::uint64_t has = pull.version();
    const std::uint64_t wanted =
        pull.ps < run.closure.versions_size() ? run.closure.versions(pull.ps) : std::uint64_t{0};
    pull.due = !pull.pushed || has == 0 || has < wanted;
  }
  if (run.closure.has_max_staleness()) check_staleness(function, run);
  if (std::none_of(function.ps_pulls.begin(), function.ps_pulls.end(), [](const auto& pull) { return pull.due; }))
    return;
  const TimelineSpan span("cluster", "pull", -1, run.head.closure);
  for (WorkerFunction::Pull& pull : function.ps_pulls) {
    Head head = exchange_head(run);
    head.flags = kPull;
    head.version = pull.version();
    write_request<Method::Exchange>(head, {}, pull.request);
  }
  ps_calls_.call_all(function.ps_pulls);
  install_pulled(function);
}

// Also on devices that the function does not use: replicas are those of all functions.
template <class ForEachCall>
void ClosureRunner::install(const ForEachCall& for_each_call) {
  for (int number = 0; number < devices_.size(); ++number) {
    const auto lane = static_cast<std::size_t>(number);
    std::vector<DeviceCopies::Write> writes;
    for_each_call([&](WorkerFunction::PsCall& call, std::size_t first) {
      if (devices_.copies(number)) {
        call.add_writes(first, lane, writes);
      } else {
        call.install(first, lane, devices_.device(number));
      }
    });
    if (devices_.copies(number)) devices_.copies(number)->write(writes);
  }
  for_each_call([](WorkerFunction::PsCall& call, std::size_t first) { call.take_version(first); });
}

void ClosureRunner::install_pulled(WorkerFunction& function) {
  install([&](const auto& with) {
    for (WorkerFunction::Pull& pull : function.ps_pulls) {
      if (pull.due) with(pull, 0);
    }
  });
  for (WorkerFunction::Pull& pull : function.ps_pulls) {
    if (pull.due) pull.reply.parts.clear();
  }
}

void ClosureRunner::install_returned(WorkerFunction& function) {
  install([&](const auto& with) {
    for (auto& round : function.rounds) {
      for (WorkerFunction::Exchange& exchange : round) with(exchange, exchange.returned.size());
    }
  });
}

// Only a server knows how far others have come since this worker's last push.
void ClosureRunner::check_staleness(WorkerFunction& function, const Run& run) {
  for (WorkerFunction::Pull& pull : function.ps_pulls) {
    pull.due = !pull.due;  // the others are pulled anyway
    Head head = exchange_head(run);
    head.flags = kPull | kVersion;
    write_request<Method::Exchange>(head, {}, pull.request);
  }
  ps_calls_.call_all(function.ps_pulls);
  for (WorkerFunction::Pull& pull : function.ps_pulls) {
    const bool asked = pull.due;
    const std::uint64_t has = pull.version(), newest = pull.reply.head.version;
    pull.due = !asked || (newest > has && newest - has > run.closure.max_staleness());
  }
}

bool ClosureRunner::take_elements(WorkerFunction& function, Run& run) {
  const TimelineSpan span("data", "data", static_cast<std::int64_t>(run.random.step));
  for (std::size_t pull = 0; pull < function.pulls.size(); ++pull) {
    if (!run.pipelines[static_cast<std::size_t>(function.pulls[pull])]->next(run.element)) return false;
    if (pull == 0 && function.lanes.size() > 1) devices_.divide(rows_of_batch(run.element));
    for (std::size_t i = 0; i < function.inputs.size(); ++i) {
      const WorkerFunction::Input& input = function.inputs[i];
      if (input.kind != WorkerFunction::Input::Kind::Element || static_cast<std::size_t>(input.pull) != pull) continue;
      if (static_cast<std::size_t>(input.leaf) >= run.element.size()) {
        throw invalid_argument("Server", "elements must have the tensors the function was traced with",
                               {{"tensors", run.element.size()}, {"expected more than", input.leaf}});
      }
      bind_element(function, i, run.element[static_cast<std::size_t>(input.leaf)]);
    }
  }
  return true;
}

// A lane without a row computes with another's, and what comes of it does not count.
void ClosureRunner::bind_element(WorkerFunction& function, std::size_t input, const Tensor& leaf) {
  const std::int64_t lanes = static_cast<std::int64_t>(function.lanes.size());
  const std::int64_t rows = leaf.rank() == 0 ? 0 : leaf.shape()[0];
  std::int64_t first = 0;
  for (std::size_t number = 0; number < function.lanes.size(); ++number) {
    const std::int64_t own = rows_of_replica(rows, lanes, static_cast<std::int64_t>(number));
    const bool whole = lanes == 1 || rows == 0;
    function.lanes[number].bound[input] =
        placed(whole ? leaf : leaf.rows(own > 0 ? first : 0, std::max(own, std::int64_t{1})), number);
    first += own;
  }
}

// On a device it goes there when a stage begins, through pinned memory.
Tensor ClosureRunner::placed(const Tensor& value, std::size_t lane) const {
  const int number = static_cast<int>(lane);
  return devices_.copies(number) ? value : seen_from(value, devices_.device(number));
}

void ClosureRunner::run_step(WorkerFunction& function, Run& run) {
  const SumsOfIdleLanes sums(function, devices_);
  for (std::size_t number = 0; number < function.stages.size(); ++number) {
    // A stage without results still has effects, on accumulators.
    if (!function.stages[number].executables->graph()->nodes.empty()) run_stage(function, number, run);
    if (number < function.rounds.size()) run_exchanges(function, number, run);
  }
  sums.restore();
  install_returned(function);
}

void ClosureRunner::run_stage(WorkerFunction& function, std::size_t number, Run& run) {
  const TimelineSpan span("compute", "compute", static_cast<std::int64_t>(run.random.step), run.head.closure);
  if (function.lanes.size() == 1) return run_lane(function, number, 0, run.random);
  devices_.run([&](int replica) {
    const auto lane = static_cast<std::size_t>(replica);
    if (!function.meets && devices_.is_idle(replica)) return;
    RandomState random = run.random;
    random.first_sample += static_cast<std::uint64_t>(devices_.first_sample(replica));
    run_lane(function, number, lane, random);
  });
}

void ClosureRunner::run_lane(WorkerFunction& function, std::size_t number, std::size_t index,
                             const RandomState& random) {
  const WorkerFunction::Stage& stage = function.stages[number];
  WorkerFunction::Lane& lane = function.lanes[index];
  WorkerFunction::Lane::StageState& state = lane.stages[number];
  for (std::size_t i = 0; i < stage.inputs.size(); ++i) state.bound[i] = lane.at(stage.inputs[i]);
  if (devices_.copies(static_cast<int>(index))) return run_on_device(function, number, index, random);
  stage.executables->run(state.bound, state.results, random, devices_.device(static_cast<int>(index)));
  for (std::size_t i = 0; i < stage.outputs.size(); ++i) {
    lane.values[static_cast<std::size_t>(stage.outputs[i])] = std::move(state.results[i]);
  }
}

void ClosureRunner::run_on_device(WorkerFunction& function, std::size_t number, std::size_t index,
                                  const RandomState& random) {
  const WorkerFunction::Stage& stage = function.stages[number];
  WorkerFunction::Lane& lane = function.lanes[index];
  WorkerFunction::Lane::StageState& state = lane.stages[number];
  Device& device = devices_.device(static_cast<int>(index));
  const std::span<const Tensor> inputs(state.bound);
  const auto values = inputs.first(stage.values), resources = inputs.subspan(stage.values);
  Tensors fixed(stage.values);
  for (std::size_t i = 0; i < stage.values; ++i) {
    if (stage.inputs[i] < 0) fixed[i] = lane.fixed[static_cast<std::size_t>(~stage.inputs[i])];
  }
  RecordedSteps* recorded = state.recorded.find(*stage.executables, device, values, resources, fixed);
  if (!recorded) {
    for (Tensor& input : state.bound) input = input.to(device);
    stage.executables->run(state.bound, state.results, random, device);
  }
  for (std::size_t i = 0; i < stage.outputs.size(); ++i) {
    const auto slot = static_cast<std::size_t>(stage.outputs[i]);
    lane.values[slot] = recorded ? recorded->outputs()[i] : std::move(state.results[i]);
    lane.fixed[slot] = recorded ? recorded->outputs()[i] : Tensor();
  }
  // What is sent is the same on all lanes.
  const auto push = [&](std::span<const std::size_t> outputs) {
    if (index == 0) push_outputs(function, number, outputs);
  };
  if (recorded) return recorded->add(values, random, push);
  std::vector<std::size_t> all(stage.outputs.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  push(all);
}

// Their copies run beside the rest of the stage.
void ClosureRunner::push_outputs(WorkerFunction& function, std::size_t number, std::span<const std::size_t> outputs) {
  const WorkerFunction::Stage& stage = function.stages[number];
  DeviceCopies& copies = *devices_.copies(0);
  copies.follow_compute();
  for (const std::size_t output : outputs) {
    const Tensor& value = function.lanes[0].values[static_cast<std::size_t>(stage.outputs[output])];
    for (const WorkerFunction::SentPart& to : stage.sent[output]) {
      copies.fetch(value, function.rounds[number][to.exchange].request.parts[to.part]);
    }
  }
}

// The rest of what is sent to the servers, and the end of the copies that have begun.
void ClosureRunner::read_pushed(WorkerFunction& function, std::vector<WorkerFunction::Exchange>& exchanges) {
  DeviceCopies& copies = *devices_.copies(0);
  copies.follow_compute();
  for (WorkerFunction::Exchange& exchange : exchanges) {
    for (std::size_t i = 0; i < exchange.sent.size(); ++i) {
      if (exchange.follows_stage[i]) continue;
      copies.fetch(function.lanes[0].at(exchange.sent[i]), exchange.request.parts[i]);
    }
  }
  copies.finish_fetches();
}

void ClosureRunner::run_exchanges(WorkerFunction& function, std::size_t round, Run& run) {
  const TimelineSpan span("cluster", "push", static_cast<std::int64_t>(run.random.step), run.head.closure);
  std::vector<WorkerFunction::Exchange>& exchanges = function.rounds[round];
  Head head = exchange_head(run);
  head.round = static_cast<std::uint32_t>(round);
  for (WorkerFunction::Exchange& exchange : exchanges) {
    head.version = exchange.version();
    write_request<Method::Exchange>(head, {}, exchange.request);
    if (devices_.copies(0)) continue;
    Tensors& parts = exchange.request.parts;
    for (std::size_t i = 0; i < exchange.sent.size(); ++i) parts[i] = function.lanes[0].at(exchange.sent[i]).to_host();
  }
  if (devices_.copies(0)) read_pushed(function, exchanges);
  ps_calls_.call_all(exchanges);
  for (WorkerFunction::Exchange& exchange : exchanges) {
    count_staleness(exchange);
    for (std::size_t i = 0; i < exchange.returned.size(); ++i) {
      for (std::size_t lane = 0; lane < function.lanes.size(); ++lane) {
        function.lanes[lane].values[static_cast<std::size_t>(exchange.returned[i])] =
            placed(exchange.reply.parts[i], lane);
      }
    }
  }
}

}  // namespace cohort::distribute
