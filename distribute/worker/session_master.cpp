#include "cohort/distribute/worker/session_master.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "cohort/core/log.h"
#include "cohort/core/text.h"
#include "cohort/distribute/protocol/attached_constants.h"
#include "cohort/distribute/protocol/typed_call.h"
#include "cohort/distribute/worker/constant_bytes.h"
#include "cohort/distribute/worker/constant_store.h"
#include "cohort/graph/graph_parts.h"
#include "cohort/graph/graph_proto.h"

namespace cohort::distribute {
namespace {

constexpr std::chrono::milliseconds kLongestRun{24 * 3600 * 1000}, kToLetGo{2000};
// That tasks may take to make their parts ready, others of the session waiting meanwhile.
constexpr std::chrono::milliseconds kToRegister{60'000};

// A variable as a session's graph has it.
struct GraphVariable {
  std::string container, name;
  TensorSpec spec;
  std::shared_ptr<const Graph> initial;
  DeviceSpec device;
};

Value value_from(const proto::ValueProto& from) { return {from.node(), from.output()}; }

GraphRequest request_from(const proto::RunSessionProto& from) {
  GraphRequest request;
  for (const auto& fetch : from.fetches()) request.fetches.push_back(value_from(fetch));
  request.targets.assign(from.targets().begin(), from.targets().end());
  for (const auto& feed : from.feeds()) request.feeds.push_back(value_from(feed));
  return request;
}

// Tells runs apart that need different parts.
std::string key_of(proto::RunSessionProto from) {
  from.clear_timeout();
  from.clear_log_placement();
  return from.SerializeAsString();
}

}  // namespace

// What one kind of run needs: the parts of the graph as tasks have registered them.
struct SessionMaster::Plan {
  struct Part {
    std::string task;
    std::uint64_t handle = 0;
    int round = 0;
    std::vector<int> values, results;
  };
  std::vector<Part> parts;  // in the order of their rounds
  int slots = 0;
  std::vector<int> outputs;
  std::vector<std::string> placement;  // a line for each node

  const Tensor& value(int reference, const Tensors& feeds, const Tensors& computed) const {
    return reference >= 0 ? feeds[static_cast<std::size_t>(reference)] : computed[static_cast<std::size_t>(~reference)];
  }
};

struct SessionMaster::Session {
  Session(std::uint64_t id, const proto::OpenSessionProto& from)
      : id(id), shared(!from.private_variables()), soft(from.soft_placement()), seed(new_identity()) {}
  const std::uint64_t id;
  const bool shared, soft;
  const std::uint64_t seed;
  std::atomic<std::uint64_t> steps{0};
  std::mutex mutex;  // guards what follows
  bool closed = false;
  Graph graph;
  std::map<int, GraphVariable> variables;  // by node
  std::vector<std::shared_ptr<void>> memory;
  std::map<std::string, std::shared_ptr<Plan>> plans;
  std::deque<std::string> plans_by_age;
  std::map<std::string, std::uint64_t> incarnations;  // of the tasks that have parts
  std::map<std::string, TaskDevices> devices;         // by task, of those that were asked
};

// One of the runs that a task does at once.
class SessionMaster::RunPlace {
 public:
  RunPlace(SessionMaster& master, Clock::time_point deadline) : master_(master) {
    std::unique_lock lock(master.mutex_);
    const auto is_free = [&] { return master.runs_ < master.limits_.runs; };
    // Those that wait have threads, too, and some must be left for the parts that others send.
    const bool waits = !is_free() && master.waiting_ < master.limits_.runs;
    if (waits) ++master.waiting_;
    const bool found = waits ? master.run_ended_.wait_until(lock, deadline, is_free) : is_free();
    if (waits) --master.waiting_;
    if (!found) {
      throw Error(ErrorCode::ResourceExhausted, master.name_, "a run of a session must find a place in time",
                  {{"runs", master.runs_}, {"waiting", master.waiting_}}, "Open sessions at other tasks, too.");
    }
    ++master.runs_;
  }
  ~RunPlace() {
    {
      std::lock_guard lock(master_.mutex_);
      --master_.runs_;
    }
    master_.run_ended_.notify_one();
  }
  RunPlace(const RunPlace&) = delete;

 private:
  SessionMaster& master_;
};

SessionMaster::SessionMaster(ClusterSpec cluster, std::string job, std::int64_t index, std::uint64_t incarnation,
                             rpc::TransportOptions transport, SessionParts& parts, SessionLimits limits)
    : cluster_(std::move(cluster)),
      job_(std::move(job)),
      index_(index),
      name_(task_name(job_, index_)),
      incarnation_(incarnation),
      transport_([&] {
        transport.caller = incarnation;
        return std::move(transport);
      }()),
      parts_(parts),
      limits_(limits) {}
SessionMaster::~SessionMaster() = default;

std::shared_ptr<SessionMaster::Session> SessionMaster::session_of(const Head& head) const {
  std::lock_guard lock(mutex_);
  const auto found = sessions_.find(head.job);
  if (found != sessions_.end()) return found->second;
  throw Error(ErrorCode::Aborted, name_, "a session that is open here is expected",
              {{"method", to_string(head.method)}},
              "It was closed, its client was gone for too long, or the task was restarted: open another session.");
}

bool SessionMaster::knows(std::uint64_t session) const {
  std::lock_guard lock(mutex_);
  return sessions_.contains(session);
}

void SessionMaster::open(const Request<Method::OpenSession>& request, Reply<Method::OpenSession>& reply) {
  if (request.metadata.protocol() != kProtocolVersion || request.head.job == 0) {
    throw failed_precondition(name_, "a client that speaks the same protocol is expected",
                              {{"protocol", request.metadata.protocol()}, {"expected", kProtocolVersion}},
                              "Run the same version of Cohort everywhere.");
  }
  reply.metadata.set_master(name_);
  std::lock_guard lock(mutex_);
  if (sessions_.contains(request.head.job)) return;
  if (sessions_.size() >= static_cast<std::size_t>(limits_.sessions)) {
    throw Error(ErrorCode::ResourceExhausted, name_, "a task has at most so many sessions",
                {{"sessions", sessions_.size()}}, "Close some, or open them at other tasks.");
  }
  sessions_.emplace(request.head.job, std::make_shared<Session>(request.head.job, request.metadata));
}

void SessionMaster::extend(const Request<Method::ExtendSession>& request, Reply<Method::ExtendSession>&) {
  const proto::ExtendSessionProto& from = request.metadata;
  const std::shared_ptr<Session> session = session_of(request.head);
  ConstantStore store;
  const HeldConstants constants = store.take(from.constants(), request.parts);
  const auto added = parse_graph(from.graph(), constants.table);
  std::lock_guard lock(session->mutex);
  Graph& graph = session->graph;
  const auto earlier = static_cast<std::size_t>(from.earlier_size());
  if (static_cast<std::size_t>(from.first_node()) != graph.nodes.size() || earlier > added->nodes.size() ||
      graph.nodes.size() + added->nodes.size() > limits_.nodes) {
    throw invalid_argument(name_, "a session's graph grows by the nodes that it lacks, up to a limit",
                           {{"nodes", graph.nodes.size()},
                            {"first", from.first_node()},
                            {"added", added->nodes.size()},
                            {"limit", limits_.nodes}});
  }
  std::map<Value, Value> values;  // of what is added -> of the session's graph
  for (std::size_t i = 0; i < earlier; ++i) {
    const Value value = value_from(from.earlier(static_cast<int>(i)));
    const bool there =
        value.node >= 0 && value.node < from.first_node() && value.output >= 0 &&
        value.output < static_cast<int>(graph.nodes[static_cast<std::size_t>(value.node)].outputs.size());
    const Node& stands_for_it = added->nodes[i];
    if (!there || stands_for_it.op->name() != "Input" || stands_for_it.outputs[0] != graph.spec(value)) {
      throw invalid_argument(name_, "what a graph gains refers to values that it has",
                             {{"node", value.node}, {"output", value.output}});
    }
    values[{static_cast<int>(i), 0}] = value;
  }
  std::map<int, GraphVariable> variables;
  for (const proto::SessionVariableProto& variable : from.variables()) {
    const auto initial = parse_graph(variable.initial(), constants.table);
    variables[variable.node()] = {variable.container(), variable.name(), read_spec(variable.spec()), initial,
                                  DeviceSpec::from_string(variable.device())};
  }
  std::vector<Node> nodes;
  std::size_t declared = 0;
  for (std::size_t i = earlier; i < added->nodes.size(); ++i) {
    Node node = added->nodes[i];
    const int index = from.first_node() + static_cast<int>(i - earlier);
    const bool is_variable = node.op->name() == "Input" && node.outputs[0].dtype == DType::Resource;
    if (is_variable != variables.contains(index)) {
      throw invalid_argument(name_, "the resources of a session's graph are its variables", {{"node", node.name}});
    }
    declared += is_variable ? 1 : 0;
    for (Value& input : node.inputs) input = values.at(input);
    for (int k = 0; k < static_cast<int>(node.outputs.size()); ++k) values[{static_cast<int>(i), k}] = {index, k};
    nodes.push_back(std::move(node));
  }
  if (declared != variables.size()) {
    throw invalid_argument(name_, "variables are inputs of what a graph gains",
                           {{"variables", variables.size()}, {"inputs", declared}});
  }
  session->memory.push_back(parts_.memory().reserve("constants of a session", constant_bytes(constants.table)));
  graph.nodes.insert(graph.nodes.end(), std::make_move_iterator(nodes.begin()), std::make_move_iterator(nodes.end()));
  session->variables.merge(variables);
}

rpc::TimedCalls& SessionMaster::calls_to(const std::string& task) {
  std::lock_guard lock(mutex_);
  if (!deadlines_) deadlines_ = std::make_shared<rpc::StreamDeadlines>();
  std::unique_ptr<rpc::TimedCalls>& calls = calls_[task];
  if (!calls) {
    const auto colon = task.find(':');
    const std::string& address = cluster_.task_address(task.substr(0, colon), std::stoll(task.substr(colon + 1)));
    calls = std::make_unique<rpc::TimedCalls>(rpc::Peer{task, address}, transport_, deadlines_);
  }
  return *calls;
}

TaskDevices SessionMaster::devices_of(const std::string& task, Clock::time_point deadline) {
  proto::TaskDevicesProto metadata;
  if (is_own(task)) {
    Message unused;
    Reply<Method::ListDevices> reply{unused.head, metadata, unused.parts};
    parts_.list_devices({unused.head, {}, unused.parts}, reply);
  } else {
    Message request, reply;
    write_request<Method::ListDevices>({.incarnation = incarnation_}, {}, request);
    calls_to(task).call(request, reply, deadline);
    read_metadata(task, reply, metadata);
  }
  return {{metadata.names().begin(), metadata.names().end()}, metadata.by_default()};
}

void SessionMaster::register_part(Session& session, const SessionPlace& place, std::uint64_t handle,
                                  const proto::RegisterPartProto& metadata, Tensors parts, Clock::time_point deadline) {
  const Head head{.job = session.id, .incarnation = incarnation_, .function = handle};
  if (is_own(place.task())) {
    Message reply;
    NoMetadata none;
    Reply<Method::RegisterPart> to{reply.head, none, reply.parts};
    parts_.register_part({head, metadata, parts}, to);
    return;
  }
  auto calls = calls_to(place.task()).until(deadline);
  const auto reply = call<Method::RegisterPart>(calls, head, metadata, std::move(parts));
  const auto known = session.incarnations.emplace(place.task(), reply.head.incarnation).first;
  if (known->second == reply.head.incarnation) return;
  throw Error(ErrorCode::Aborted, name_, "tasks that have a session's variables go on living",
              {{"restarted", place.task()}}, "Its variables are lost: open another session.");
}

std::shared_ptr<SessionMaster::Plan> SessionMaster::make_plan(Session& session,
                                                              const Request<Method::RunSession>& request,
                                                              Clock::time_point deadline) {
  std::vector<int> sources;  // of the inputs behind the feeds: nodes of the session's graph
  const GraphRequest wanted = request_from(request.metadata);
  const Graph graph = needed_part(session.graph, wanted, sources);
  SessionPlacer placer(cluster_, job_, index_, session.soft, [&](const std::string& task) -> const TaskDevices& {
    auto known = session.devices.find(task);
    if (known == session.devices.end()) known = session.devices.emplace(task, devices_of(task, deadline)).first;
    return known->second;
  });
  auto plan = std::make_shared<Plan>();
  std::vector<int> homes(wanted.feeds.size(), -1);
  for (int node : sources) {
    const GraphVariable& variable = session.variables.at(node);
    homes.push_back(placer.place(variable.device, titled("Variable", variable.name)));
    plan->placement.push_back(variable.name + ": (Variable) " +
                              placer.places()[static_cast<std::size_t>(homes.back())].name());
  }
  const std::vector<int> places = placer.place_nodes(graph, homes);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (places[i] == kAnyPlace) continue;
    plan->placement.push_back(graph.nodes[i].name + ": (" + graph.nodes[i].op->name() + ") " +
                              placer.places()[static_cast<std::size_t>(places[i])].name());
  }
  GraphParts cut = cut_by_place(graph, places);
  plan->slots = cut.slots;
  plan->outputs = std::move(cut.outputs);
  for (PlacedPart& part : cut.parts) {
    const SessionPlace& place = placer.places()[static_cast<std::size_t>(part.place)];
    proto::RegisterPartProto metadata;
    ConstantTable constants;
    metadata.set_graph(serialize(part.graph, constants));
    metadata.set_device(place.device);
    for (int resource : part.resources) {
      const int node = sources[static_cast<std::size_t>(resource) - wanted.feeds.size()];
      const GraphVariable& variable = session.variables.at(node);
      proto::PartVariableProto& to = *metadata.add_variables();
      to.set_shared(session.shared);
      to.set_container(variable.container);
      to.set_name(variable.name);
      write_spec(variable.spec, *to.mutable_spec());
      to.set_initial(serialize(*variable.initial, constants));
    }
    Tensors parts;
    attach_all(constants, *metadata.mutable_constants(), parts);
    const std::uint64_t handle = ++handles_;
    register_part(session, place, handle, metadata, std::move(parts), deadline);
    plan->parts.push_back({place.task(), handle, part.round, std::move(part.values), std::move(part.results)});
  }
  return plan;
}

std::shared_ptr<SessionMaster::Plan> SessionMaster::plan_for(Session& session,
                                                             const Request<Method::RunSession>& request,
                                                             Clock::time_point deadline) {
  const std::string key = key_of(request.metadata);
  std::shared_ptr<Plan> plan, oldest;
  {
    std::lock_guard lock(session.mutex);
    if (const auto known = session.plans.find(key); known != session.plans.end()) return known->second;
    if (session.closed) throw Error(ErrorCode::Aborted, name_, "a session that is open is expected");
    plan = make_plan(session, request, std::min(deadline, Clock::now() + kToRegister));
    session.plans.emplace(key, plan);
    session.plans_by_age.push_back(key);
    if (session.plans_by_age.size() > limits_.plans) {
      oldest = std::move(session.plans.extract(session.plans_by_age.front()).mapped());
      session.plans_by_age.pop_front();
    }
  }
  if (oldest) {
    for (const Plan::Part& part : oldest->parts) {
      proto::ReleasePartsProto handles;
      handles.add_handles(part.handle);
      release(session.id, part.task, handles);
    }
  }
  return plan;
}

void SessionMaster::run_plan(const Session& session, const Plan& plan, const Tensors& feeds, std::uint64_t step,
                             Clock::time_point deadline, Tensors& fetches) {
  struct UnderWay {
    const Plan::Part* part;
    Message request;
    std::optional<rpc::TimedCalls::Call> call;
  };
  proto::RunPartProto metadata;
  metadata.set_seed(session.seed);
  Tensors computed(static_cast<std::size_t>(plan.slots));
  const auto keep = [&](const Plan::Part& part, Tensors& results) {
    if (results.size() != part.results.size()) {
      throw Error(ErrorCode::DataLoss, part.task, "a part's results are expected",
                  {{"parts", results.size()}, {"expected", part.results.size()}});
    }
    for (std::size_t i = 0; i < results.size(); ++i) {
      computed[static_cast<std::size_t>(part.results[i])] = std::move(results[i]);
    }
  };
  for (std::size_t first = 0; first < plan.parts.size();) {
    std::size_t end = first;
    while (end < plan.parts.size() && plan.parts[end].round == plan.parts[first].round) ++end;
    std::deque<UnderWay> others;
    std::vector<UnderWay> own;
    for (std::size_t i = first; i < end; ++i) {
      const Plan::Part& part = plan.parts[i];
      UnderWay run{&part, {}, {}};
      for (int value : part.values) run.request.parts.push_back(plan.value(value, feeds, computed));
      const Head head{.job = session.id, .incarnation = incarnation_, .function = part.handle, .step = step};
      write_request<Method::RunPart>(head, metadata, run.request);
      if (is_own(part.task)) {
        own.push_back(std::move(run));
        continue;
      }
      others.push_back(std::move(run));
      others.back().call.emplace(calls_to(part.task).send(others.back().request, deadline));
    }
    for (UnderWay& run : own) {
      Message reply;
      NoMetadata none;
      Reply<Method::RunPart> to{reply.head, none, reply.parts};
      parts_.run_part({run.request.head, metadata, run.request.parts}, to);
      keep(*run.part, reply.parts);
    }
    for (UnderWay& run : others) {
      Message reply;
      run.call->receive(reply);
      keep(*run.part, reply.parts);
    }
    first = end;
  }
  for (int output : plan.outputs) fetches.push_back(plan.value(output, feeds, computed));
}

void SessionMaster::run(const Request<Method::RunSession>& request, Reply<Method::RunSession>& reply) {
  const std::shared_ptr<Session> session = session_of(request.head);
  const proto::RunSessionProto& from = request.metadata;
  if (static_cast<std::size_t>(from.feeds_size()) != request.parts.size()) {
    throw invalid_argument(name_, "a value for each feed is expected",
                           {{"feeds", from.feeds_size()}, {"values", request.parts.size()}});
  }
  const std::chrono::milliseconds longest(from.timeout());
  const auto deadline = Clock::now() + (longest.count() > 0 ? longest : kLongestRun);
  const RunPlace place(*this, deadline);
  const std::shared_ptr<Plan> plan = plan_for(*session, request, deadline);
  run_plan(*session, *plan, request.parts, ++session->steps, deadline, reply.parts);
  if (!from.log_placement()) return;
  for (const std::string& line : plan->placement) reply.metadata.add_placement(line);
}

void SessionMaster::release(std::uint64_t session, const std::string& task, const proto::ReleasePartsProto& what) {
  try {
    const Head head{.job = session, .incarnation = incarnation_};
    if (!is_own(task)) {
      auto calls = calls_to(task).until(Clock::now() + kToLetGo);
      call<Method::ReleaseParts>(calls, head, what);
      return;
    }
    Message reply;
    NoMetadata none;
    Reply<Method::ReleaseParts> to{reply.head, none, reply.parts};
    parts_.release_parts({head, what, {}}, to);
  } catch (const Error& error) {
    log::info(name_ + ": " + task + " was not told what a session has let go of: " + error.what());
  }
}

void SessionMaster::let_go(Session& session) {
  std::set<std::string> tasks{name_};
  {
    std::lock_guard lock(session.mutex);
    session.closed = true;
    for (const auto& [task, incarnation] : session.incarnations) tasks.insert(task);
    session.plans.clear();
  }
  for (const std::string& task : tasks) release(session.id, task, {});
}

void SessionMaster::close(const Request<Method::CloseSession>& request, Reply<Method::CloseSession>&) {
  forget(request.head.job);
}

void SessionMaster::forget(std::uint64_t id) {
  std::shared_ptr<Session> session;
  {
    std::lock_guard lock(mutex_);
    if (auto found = sessions_.extract(id)) session = std::move(found.mapped());
  }
  if (session) let_go(*session);
}

}  // namespace cohort::distribute
