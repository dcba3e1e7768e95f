#include "cohort/distribute/worker/closure_runner.h"

#include <algorithm>

#include "cohort/distribute/cluster/roles.h"
#include "cohort/distribute/protocol/lease.h"
#include "cohort/distribute/protocol/message_flags.h"
#include "cohort/distribute/protocol/typed_call.h"
#include "cohort/distribute/worker/applied_bundles.h"

namespace cohort::distribute {
namespace {

constexpr std::size_t kResultsKept = 8;
// A server that is gone for longer is lost, and its variables with it.
constexpr std::chrono::milliseconds kGiveUpServerAfter{1000};

}  // namespace

// What a running closure needs from step to step.
struct ClosureRunner::Run {
  explicit Run(const Request<Method::RunClosure>& request) : head(request.head), closure(request.metadata) {
    random = {.seed = closure.seed(), .epoch = closure.epoch(), .step = closure.step()};
  }
  Head head;
  const proto::ClosureProto& closure;
  RandomState random;
  std::vector<Pipeline*> pipelines;
  bool data_ended = false;
  Tensors element;
  Device* device = &default_device();
};

ClosureRunner::ClosureRunner(ConstantStore& constants, Pipelines& pipelines, std::uint64_t job,
                             std::uint64_t incarnation, rpc::TransportOptions options)
    : constants_(constants),
      pipelines_(pipelines),
      job_(job),
      incarnation_(incarnation),
      options_(std::move(options)) {}

rpc::ReliableStream& ClosureRunner::stream_to(int ps) {
  // A function that was registered later may have named fewer.
  if (ps < 0 || static_cast<std::size_t>(ps) >= ps_links_.size()) {
    throw invalid_argument("Server", "a server of the job is expected",
                           {{"server", ps}, {"servers", ps_links_.size()}});
  }
  PsLink& link = ps_links_[static_cast<std::size_t>(ps)];
  if (!link.stream) {
    const rpc::Peer peer{task_name(kPs, ps), link.address};
    link.stream = std::make_unique<rpc::ReliableStream>(rpc::connect(peer, options_), kGiveUpServerAfter);
  }
  return *link.stream;
}

std::shared_ptr<Replica> ClosureRunner::find_replica(const std::string& name, int ps, const TensorSpec& spec) {
  std::shared_ptr<Replica>& replica = replicas_[name];
  if (!replica) {
    const auto variable = std::make_shared<LocalVariable>(Tensor::full(spec.shape, 0.0, spec.dtype),
                                                          VariableOptions{.name = name, .dtype = spec.dtype});
    replica =
        std::make_shared<Replica>(Replica{.ps = ps, .variable = variable, .handle = Tensor::of_resource(variable)});
  }
  if (replica->ps != ps || replica->variable->value_spec() != spec) {
    throw invalid_argument("Server", "a variable must keep its place, type and shape",
                           {{"variable", name}, {"spec", spec}, {"server", ps}});
  }
  return replica;
}

void ClosureRunner::register_function(const Request<Method::RegisterWorker>& request, Reply<Method::RegisterWorker>&) {
  const proto::RegisterWorkerProto& from = request.metadata;
  constants_.take(from.constants(), request.parts);
  std::lock_guard lock(mutex_);
  ps_links_.resize(static_cast<std::size_t>(from.ps_size()));
  for (int i = 0; i < from.ps_size(); ++i) {
    PsLink& link = ps_links_[static_cast<std::size_t>(i)];
    if (link.address != from.ps(i).address()) link = {.address = from.ps(i).address(), .stream = nullptr};
  }
  functions_.insert_or_assign(
      request.head.function,
      make_worker_function(from, constants_.table(), [this](const std::string& name, int ps, const TensorSpec& spec) {
        return find_replica(name, ps, spec);
      }));
}

void ClosureRunner::cancel(const Request<Method::Cancel>& request, Reply<Method::Cancel>&) {
  cancel_up_to(request.head.closure);
}

void ClosureRunner::cancel_up_to(std::uint64_t closure) {
  std::uint64_t before = cancelled_up_to_.load();
  while (before < closure && !cancelled_up_to_.compare_exchange_weak(before, closure)) {
  }
}

void ClosureRunner::stop_if_cancelled(std::uint64_t closure) const {
  if (cancelled_up_to_.load(std::memory_order_relaxed) < closure) return;
  throw Error(ErrorCode::Cancelled, "Server", "a closure was cancelled", {{"closure", closure}});
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
  WorkerFunction& function = find_function(request.head.function);
  Run run(request);
  begin_closure(function, request.parts, run);
  // Asking a server that is lost takes its time.
  stop_if_cancelled(request.head.closure);
  refresh_replicas(function, run);

  Tensors outputs;
  std::int64_t step = 0;
  for (; step < run.closure.steps() && !run.data_ended; ++step) {
    stop_if_cancelled(request.head.closure);
    run.head.step = static_cast<std::uint64_t>(step);
    run.random.step = run.closure.step() + run.head.step;
    run.data_ended = !take_elements(function, run);
    if (run.data_ended) break;
    run_step(function, run);
    for (int source : function.outputs) outputs.push_back(function.at(source).to_host());
  }
  reply.metadata.set_steps(step);
  reply.metadata.set_data_ended(run.data_ended);
  for (const Pipeline* pipeline : run.pipelines) reply.metadata.add_states(pipeline->save());
  reply.parts.clear();
  for (const WorkerFunction::Input& input : function.inputs) {
    if (input.kind == WorkerFunction::Input::Kind::Accumulator) reply.parts.push_back(read_now(input.accumulator));
  }
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
  std::size_t next = 0;
  for (std::size_t i = 0; i < function.inputs.size(); ++i) {
    WorkerFunction::Input& input = function.inputs[i];
    if (input.kind == Kind::Argument) {
      if (next == arguments.size()) {
        throw invalid_argument("Server", "a closure must bring its function's arguments",
                               {{"arguments", arguments.size()}});
      }
      function.bound[i] = arguments[next++].to(*run.device);
    } else if (input.kind == Kind::Accumulator) {
      write_now(input.accumulator, Tensor::full(input.spec.shape, 0.0, input.spec.dtype));
    }
  }
  for (const proto::LeaseProto& from : run.closure.leases()) {
    const Lease lease = read_lease(from);
    run.pipelines.push_back(&pipelines_.find(lease.dataset, lease.pipeline));
    run.data_ended |= !run.pipelines.back()->seek(lease);
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
  for (const WorkerFunction::Pulled& pulled : function.pulled) {
    std::uint64_t oldest = pulled.replicas.front()->version;
    for (const auto& replica : pulled.replicas) oldest = std::min(oldest, replica->version);
    const std::uint64_t wanted =
        pulled.ps < run.closure.versions_size() ? run.closure.versions(pulled.ps) : std::uint64_t{0};
    if (pulled.pushed && oldest > 0 && oldest >= wanted) continue;
    Head head = exchange_head(run);
    head.flags = kPull;
    head.version = oldest;
    const auto reply = call<Method::Exchange>(stream_to(pulled.ps), head);
    if (reply.head.flags & kUnchanged) continue;
    if (reply.parts.size() != pulled.replicas.size()) {
      throw internal_error("Server", "a pull must bring the values that were asked for",
                           {{"values", reply.parts.size()}, {"expected", pulled.replicas.size()}});
    }
    install(pulled.replicas, reply.head.version, reply.parts.data());
  }
}

void ClosureRunner::install(const std::vector<std::shared_ptr<Replica>>& replicas, std::uint64_t version,
                            const Tensor* values) {
  for (std::size_t i = 0; i < replicas.size(); ++i) {
    replicas[i]->variable->replace_value(values[i].to(default_device()));
    replicas[i]->version = version;
  }
}

bool ClosureRunner::take_elements(WorkerFunction& function, Run& run) {
  for (std::size_t pull = 0; pull < function.pulls.size(); ++pull) {
    if (!run.pipelines[static_cast<std::size_t>(function.pulls[pull])]->next(run.element)) return false;
    for (std::size_t i = 0; i < function.inputs.size(); ++i) {
      const WorkerFunction::Input& input = function.inputs[i];
      if (input.kind != WorkerFunction::Input::Kind::Element || static_cast<std::size_t>(input.pull) != pull) continue;
      if (static_cast<std::size_t>(input.leaf) >= run.element.size()) {
        throw invalid_argument("Server", "elements must have the tensors the function was traced with",
                               {{"tensors", run.element.size()}, {"expected more than", input.leaf}});
      }
      function.bound[i] = run.element[static_cast<std::size_t>(input.leaf)].to(*run.device);
    }
  }
  return true;
}

void ClosureRunner::run_step(WorkerFunction& function, Run& run) {
  for (std::size_t number = 0; number < function.stages.size(); ++number) {
    WorkerFunction::Stage& stage = function.stages[number];
    // A stage without results still has effects, on accumulators.
    if (!stage.executables->graph()->nodes.empty()) {
      for (std::size_t i = 0; i < stage.inputs.size(); ++i) stage.bound[i] = function.at(stage.inputs[i]);
      stage.executables->run(stage.bound, stage.results, run.random, *run.device);
      for (std::size_t i = 0; i < stage.outputs.size(); ++i) {
        function.values[static_cast<std::size_t>(stage.outputs[i])] = std::move(stage.results[i]);
      }
    }
    if (number < function.rounds.size()) run_exchanges(function, number, run);
  }
  for (auto& round : function.rounds) {
    for (WorkerFunction::Exchange& exchange : round) {
      install(exchange.fresh, exchange.reply.head.version, exchange.reply.parts.data() + exchange.returned.size());
    }
  }
}

void ClosureRunner::run_exchanges(WorkerFunction& function, std::size_t round, Run& run) {
  std::vector<WorkerFunction::Exchange>& exchanges = function.rounds[round];
  Head head = exchange_head(run);
  head.round = static_cast<std::uint32_t>(round);
  std::size_t sent = 0, received = 0;
  try {
    for (; sent < exchanges.size(); ++sent) {
      WorkerFunction::Exchange& exchange = exchanges[sent];
      Tensors& parts = exchange.request.parts;
      write_request<Method::Exchange>(head, {}, exchange.request);
      for (std::size_t i = 0; i < exchange.sent.size(); ++i) parts[i] = function.at(exchange.sent[i]).to_host();
      stream_to(exchange.ps).send(exchange.request);
    }
    while (received < exchanges.size()) {
      WorkerFunction::Exchange& exchange = exchanges[received++];
      const Tensors& parts = exchange.reply.parts;
      stream_to(exchange.ps).receive(exchange.reply);
      const std::size_t expected = exchange.returned.size() + exchange.fresh.size();
      if (parts.size() != expected) {
        throw internal_error("Server", "an exchange must bring what the function expects",
                             {{"values", parts.size()}, {"expected", expected}});
      }
      for (std::size_t i = 0; i < exchange.returned.size(); ++i) {
        function.values[static_cast<std::size_t>(exchange.returned[i])] = parts[i].to(*run.device);
      }
    }
  } catch (...) {
    // The others were asked too: their answers must not meet the next question.
    for (; received < sent; ++received) {
      try {
        stream_to(exchanges[received].ps).receive(exchanges[received].reply);
      } catch (const Error&) {
      }
    }
    throw;
  }
}

}  // namespace cohort::distribute
