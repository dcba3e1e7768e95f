#include "cohort/distribute/worker/closure_runner.h"

#include <algorithm>

#include "cohort/distribute/cluster/error_sources.h"
#include "cohort/distribute/protocol/message_flags.h"
#include "cohort/distribute/protocol/message_parsing.h"
#include "cohort/distribute/protocol/messages.pb.h"
#include "cohort/distribute/worker/applied_bundles.h"

namespace cohort::distribute {
namespace {

constexpr std::size_t kResultsKept = 8;

}  // namespace

// What a closure under way needs from step to step.
struct ClosureRunner::Run {
  rpc::Head head;
  proto::ClosureProto closure;
  RandomState random;
  std::vector<Pipeline*> pipelines;
  Tensors element;
  Device* device = nullptr;
};

ClosureRunner::ClosureRunner(ConstantStore& constants, Pipelines& pipelines, std::uint64_t job,
                             std::uint64_t incarnation, rpc::TransportOptions options)
    : constants_(constants),
      pipelines_(pipelines),
      job_(job),
      incarnation_(incarnation),
      servers_(std::move(options)) {}

std::shared_ptr<Replica> ClosureRunner::find_replica(const std::string& name, int server, const TensorSpec& spec) {
  std::shared_ptr<Replica>& replica = replicas_[name];
  if (!replica) {
    replica = std::make_shared<Replica>();
    replica->server = server;
    replica->variable = std::make_shared<LocalVariable>(Tensor::full(spec.shape, 0.0, spec.dtype),
                                                        VariableOptions{.name = name, .dtype = spec.dtype});
    replica->handle = Tensor::of_resource(replica->variable);
  }
  if (replica->server != server || replica->variable->value_spec() != spec) {
    throw invalid_argument(kServer, "a variable must keep its place, type and shape",
                           {{"variable", name}, {"spec", spec}, {"server", server}});
  }
  return replica;
}

void ClosureRunner::register_function(const rpc::Message& request) {
  proto::RegisterWorkerProto from;
  parse_meta(request, from);
  constants_.take(from.constants(), request.parts);
  std::vector<std::string> addresses;
  for (const proto::TaskProto& server : from.servers()) addresses.push_back(server.address());
  std::lock_guard lock(mutex_);
  servers_.set_addresses(addresses);
  functions_.insert_or_assign(request.head.function,
                              make_worker_function(from, constants_.table(),
                                                   [this](const std::string& name, int server, const TensorSpec& spec) {
                                                     return find_replica(name, server, spec);
                                                   }));
}

void ClosureRunner::cancel(std::uint64_t closure) {
  std::uint64_t before = cancelled_up_to_.load();
  while (before < closure && !cancelled_up_to_.compare_exchange_weak(before, closure)) {
  }
}

void ClosureRunner::stop_if_cancelled(std::uint64_t closure) const {
  if (cancelled_up_to_.load(std::memory_order_relaxed) < closure) return;
  throw Error(ErrorCode::Cancelled, kServer, "a closure was cancelled", {{"closure", closure}});
}

void ClosureRunner::run(const rpc::Message& request, rpc::Message& reply) {
  std::lock_guard lock(mutex_);
  const auto known = std::find_if(finished_.begin(), finished_.end(),
                                  [&](const auto& result) { return result.first == request.head.closure; });
  if (known == finished_.end()) {
    run_closure(request, reply);
    if (finished_.size() == kResultsKept) finished_.pop_front();
    finished_.emplace_back(request.head.closure, reply);
  } else {
    reply.meta = known->second.meta;
    reply.parts = known->second.parts;
  }
}

void ClosureRunner::run_closure(const rpc::Message& request, rpc::Message& reply) {
  const auto found = functions_.find(request.head.function);
  if (found == functions_.end()) {
    throw not_found(kServer, "a function that was registered on this task is expected",
                    {{"function", request.head.function}});
  }
  WorkerFunction& function = *found->second;
  Run run;
  run.head = request.head;
  run.device = &default_device();
  parse_meta(request, run.closure);
  if (static_cast<std::uint64_t>(run.closure.steps()) > AppliedBundles::kMostSteps) {
    throw invalid_argument(kServer, "a closure has at most 2^20 steps", {{"steps", run.closure.steps()}},
                           "Ask for fewer steps_per_execution.");
  }
  run.random = {.seed = run.closure.seed(), .epoch = run.closure.epoch(), .step = run.closure.step()};

  using Kind = WorkerFunction::Input::Kind;
  std::size_t argument = 0;
  for (std::size_t i = 0; i < function.inputs.size(); ++i) {
    WorkerFunction::Input& input = function.inputs[i];
    if (input.kind == Kind::Argument) {
      if (argument == request.parts.size()) {
        throw invalid_argument(kServer, "a closure must bring its function's arguments",
                               {{"arguments", request.parts.size()}});
      }
      function.bound[i] = request.parts[argument++].to(*run.device);
    } else if (input.kind == Kind::Accumulator) {
      write_now(input.accumulator, Tensor::full(input.spec.shape, 0.0, input.spec.dtype));
    }
  }
  bool ended = false;
  for (const proto::LeaseProto& from : run.closure.leases()) {
    const Lease lease{.dataset = from.dataset(),
                      .pipeline = from.pipeline(),
                      .rewinds = from.rewinds(),
                      .first = from.first(),
                      .state_at = from.state_at(),
                      .state = from.state()};
    run.pipelines.push_back(&pipelines_.find(lease.dataset, lease.pipeline));
    ended |= !run.pipelines.back()->seek(lease);
  }
  for (int iterator : function.pulls) {
    if (iterator < 0 || iterator >= static_cast<int>(run.pipelines.size())) {
      throw invalid_argument(kServer, "a lease for each iterator is expected",
                             {{"leases", run.pipelines.size()}, {"iterator", iterator}});
    }
  }
  // Asking a server that is lost takes its time.
  stop_if_cancelled(request.head.closure);
  refresh_replicas(function, run);

  proto::ClosureResultProto result;
  reply.parts.clear();
  Tensors outputs;
  std::int64_t done = 0;
  for (; done < run.closure.steps() && !ended; ++done) {
    stop_if_cancelled(request.head.closure);
    run.head.step = static_cast<std::uint64_t>(done);
    run.random.step = run.closure.step() + static_cast<std::uint64_t>(done);
    if (!take_elements(function, run)) {
      ended = true;
      break;
    }
    run_step(function, run);
    for (int source : function.outputs) outputs.push_back(function.at(source).to_host());
  }
  for (const WorkerFunction::Input& input : function.inputs) {
    if (input.kind == Kind::Accumulator) reply.parts.push_back(read_now(input.accumulator));
  }
  result.set_accumulated(static_cast<int>(reply.parts.size()));
  reply.parts.insert(reply.parts.end(), outputs.begin(), outputs.end());
  result.set_steps(done);
  result.set_data_ended(ended);
  for (const Pipeline* pipeline : run.pipelines) result.add_states(pipeline->save());
  reply.meta = result.SerializeAsString();
}

rpc::Head ClosureRunner::exchange_head(const Run& run) const {
  rpc::Head head = run.head;
  head.method = rpc::Method::Exchange;
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
        pulled.server < run.closure.versions_size() ? run.closure.versions(pulled.server) : std::uint64_t{0};
    if (pulled.pushed && oldest > 0 && oldest >= wanted) continue;
    rpc::Message request, reply;
    request.head = exchange_head(run);
    request.head.flags = kPull;
    request.head.version = oldest;
    servers_.to(pulled.server).call(request, reply);
    if (reply.head.flags & kUnchanged) continue;
    if (reply.parts.size() != pulled.replicas.size()) {
      throw internal_error(kServer, "a pull must bring the values that were asked for",
                           {{"values", reply.parts.size()}, {"expected", pulled.replicas.size()}});
    }
    install(pulled.replicas, reply, 0);
  }
}

void ClosureRunner::install(const std::vector<std::shared_ptr<Replica>>& replicas, const rpc::Message& reply,
                            std::size_t first_part) {
  for (std::size_t i = 0; i < replicas.size(); ++i) {
    replicas[i]->variable->replace_value(reply.parts[first_part + i].to(default_device()));
    replicas[i]->version = reply.head.version;
  }
}

bool ClosureRunner::take_elements(WorkerFunction& function, Run& run) {
  for (std::size_t pull = 0; pull < function.pulls.size(); ++pull) {
    if (!run.pipelines[static_cast<std::size_t>(function.pulls[pull])]->next(run.element)) return false;
    for (std::size_t i = 0; i < function.inputs.size(); ++i) {
      const WorkerFunction::Input& input = function.inputs[i];
      if (input.kind != WorkerFunction::Input::Kind::Element || static_cast<std::size_t>(input.pull) != pull) continue;
      if (static_cast<std::size_t>(input.leaf) >= run.element.size()) {
        throw invalid_argument(kServer, "elements must have the tensors the function was traced with",
                               {{"tensors", run.element.size()}, {"expected more than", input.leaf}});
      }
      function.bound[i] = run.element[static_cast<std::size_t>(input.leaf)].to(*run.device);
    }
  }
  return true;
}

void ClosureRunner::run_step(WorkerFunction& function, Run& run) {
  for (std::size_t stage = 0; stage < function.stages.size(); ++stage) {
    run_stage(function, stage, run);
    if (stage < function.rounds.size()) run_exchanges(function, stage, run);
  }
  for (auto& round : function.rounds) {
    for (WorkerFunction::Exchange& exchange : round) install(exchange.fresh, exchange.reply, exchange.returned.size());
  }
}

void ClosureRunner::run_stage(WorkerFunction& function, std::size_t index, Run& run) {
  WorkerFunction::Stage& stage = function.stages[index];
  // A stage without results still has effects, on accumulators.
  if (stage.executables->graph()->nodes.empty()) return;
  for (std::size_t i = 0; i < stage.inputs.size(); ++i) stage.bound[i] = function.at(stage.inputs[i]);
  stage.executables->run(stage.bound, stage.results, run.random, *run.device);
  for (std::size_t i = 0; i < stage.outputs.size(); ++i) {
    function.values[static_cast<std::size_t>(stage.outputs[i])] = std::move(stage.results[i]);
  }
}

void ClosureRunner::run_exchanges(WorkerFunction& function, std::size_t round, Run& run) {
  std::vector<WorkerFunction::Exchange>& exchanges = function.rounds[round];
  std::size_t sent = 0, received = 0;
  try {
    for (; sent < exchanges.size(); ++sent) send(function, round, exchanges[sent], run);
    while (received < exchanges.size()) receive(function, exchanges[received++], run);
  } catch (...) {
    // The others were asked too: their answers must not meet the next question.
    for (; received < sent; ++received) {
      try {
        servers_.to(exchanges[received].server).receive(exchanges[received].reply);
      } catch (const Error&) {
      }
    }
    throw;
  }
}

void ClosureRunner::send(WorkerFunction& function, std::size_t round, WorkerFunction::Exchange& exchange, Run& run) {
  rpc::Message& request = exchange.request;
  request.head = exchange_head(run);
  request.head.round = static_cast<std::uint32_t>(round);
  for (std::size_t i = 0; i < exchange.sent.size(); ++i) request.parts[i] = function.at(exchange.sent[i]).to_host();
  servers_.to(exchange.server).send(request);
}

void ClosureRunner::receive(WorkerFunction& function, WorkerFunction::Exchange& exchange, Run& run) {
  servers_.to(exchange.server).receive(exchange.reply);
  const std::size_t expected = exchange.returned.size() + exchange.fresh.size();
  if (exchange.reply.parts.size() != expected) {
    throw internal_error(kServer, "an exchange must bring what the function expects",
                         {{"values", exchange.reply.parts.size()}, {"expected", expected}});
  }
  for (std::size_t i = 0; i < exchange.returned.size(); ++i) {
    function.values[static_cast<std::size_t>(exchange.returned[i])] = exchange.reply.parts[i].to(*run.device);
  }
}

}  // namespace cohort::distribute
