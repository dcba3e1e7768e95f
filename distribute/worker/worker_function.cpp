#include "cohort/distribute/worker/worker_function.h"

#include <unistd.h>

#include <algorithm>
#include <numeric>

#include "cohort/distribute/collective/collective_ops.h"
#include "cohort/distribute/protocol/messages.pb.h"
#include "cohort/graph/graph_proto.h"

namespace cohort::distribute {
namespace {

// Numbers of inputs (>= 0) or of slots (~slot), checked.
template <class Numbers>
std::vector<int> read_sources(const Numbers& from, int inputs, int slots) {
  std::vector<int> sources;
  for (int source : from) {
    if (source >= 0 ? source >= inputs : ~source >= slots) {
      throw invalid_argument("Server", "a function's values come from its inputs and slots",
                             {{"source", source}, {"inputs", inputs}, {"slots", slots}});
    }
    sources.push_back(source);
  }
  return sources;
}

template <class Numbers>
std::vector<int> read_slots(const Numbers& from, int slots) {
  for (int slot : from) {
    if (slot < 0 || slot >= slots) {
      throw invalid_argument("Server", "a slot of the function is expected", {{"slot", slot}, {"slots", slots}});
    }
  }
  return {from.begin(), from.end()};
}

int read_ps(int ps, int num_ps) {
  if (ps < 0 || ps >= num_ps) {
    throw invalid_argument("Server", "a server of the job is expected", {{"server", ps}, {"servers", num_ps}});
  }
  return ps;
}

// A server is asked one thing at a time.
template <class Calls>
void check_is_new(int ps, const Calls& calls) {
  if (std::any_of(calls.begin(), calls.end(), [&](const auto& call) { return call.ps == ps; })) {
    throw invalid_argument("Server", "a server may be named once", {{"server", ps}});
  }
}

// A message's word alone does not fill this machine's memory.
class MemoryCheck {
 public:
  void add(const std::string& name, const TensorSpec& spec) {
    double bytes = is_plain(spec.dtype) ? static_cast<double>(size_of(spec.dtype)) : sizeof(std::string);
    for (const std::int64_t size : spec.shape) bytes *= static_cast<double>(size);
    bytes_ += bytes;
    if (bytes_ <= memory_) return;
    throw Error(ErrorCode::ResourceExhausted, "Server", "a function's variables must fit into this machine's memory",
                {{"variable", name}, {"spec", spec}, {"bytes in all", bytes_}, {"memory", memory_}});
  }

 private:
  const double memory_ = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
  double bytes_ = 0;
};

WorkerFunction::Input read_input(
    const proto::InputProto& from, int num_ps, MemoryCheck& memory,
    const std::function<std::shared_ptr<Replica>(const std::string&, int, const TensorSpec&)>& find_replica) {
  using Kind = WorkerFunction::Input::Kind;
  WorkerFunction::Input input;
  input.kind = static_cast<Kind>(from.kind());
  if (from.kind() < 0 || from.kind() > proto::InputProto::LOSS_SHARE) {
    throw invalid_argument("Server", "a known kind of input is expected", {{"kind", static_cast<int>(from.kind())}});
  }
  input.pull = from.pull();
  input.leaf = from.leaf();
  if (input.kind == Kind::Replica || input.kind == Kind::Accumulator) {
    input.spec = read_spec(from.spec());
    if (!input.spec.shape.fully_known()) {
      throw invalid_argument("Server", "a variable's shape must be known", {{"variable", from.name()}});
    }
    memory.add(from.name(), input.spec);
  }
  if (input.kind == Kind::Replica) input.replica = find_replica(from.name(), read_ps(from.ps(), num_ps), input.spec);
  return input;
}

int read_replicas(int replicas, const WorkerDevices& devices) {
  if (replicas <= 1) return 1;
  if (replicas == devices.size()) return replicas;
  throw failed_precondition("Server", "a function of as many replicas as this task has devices is expected",
                            {{"replicas", replicas}, {"devices", devices.size()}}, "Give all workers as many devices.");
}

// Kernels trust the resources of these to be what they should be.
void check_collectives(const Graph& graph, const std::vector<int>& sources, const WorkerFunction& function) {
  const auto stands_for_collective = [&](const Value& value) {
    const auto input = std::find(graph.inputs.begin(), graph.inputs.end(), value.node);
    if (input == graph.inputs.end()) return false;
    const int source = sources[static_cast<std::size_t>(input - graph.inputs.begin())];
    return source >= 0 &&
           function.inputs[static_cast<std::size_t>(source)].kind == WorkerFunction::Input::Kind::Collective;
  };
  for (const Node& node : graph.nodes) {
    bool fits = !has_collective_inside(node);
    for (const Value& input : node.inputs) {
      const bool is_resource = graph.spec(input).dtype == DType::Resource;
      if (is_resource && stands_for_collective(input) != is_collective(*node.op)) fits = false;
    }
    if (fits) continue;
    throw invalid_argument("Server", "replicas meet in ops for that, outside of branches and loops",
                           {{"node", node.name}, {"op", node.op->name()}});
  }
}

// What stands for the inputs of a replica's graphs in every step.
void bind_resources(WorkerFunction::Lane& lane, const proto::RegisterWorkerProto& from, const WorkerFunction& function,
                    const WorkerDevices& devices, int number) {
  using Kind = WorkerFunction::Input::Kind;
  for (std::size_t i = 0; i < function.inputs.size(); ++i) {
    const WorkerFunction::Input& input = function.inputs[i];
    if (input.kind == Kind::Replica) {
      lane.bound[i] = input.replica->copies[static_cast<std::size_t>(number)].handle;
    } else if (input.kind == Kind::Accumulator) {
      lane.accumulators[i] = Variable(std::make_shared<LocalVariable>(
          Tensor::full(input.spec.shape, 0.0, input.spec.dtype, devices.device(number)),
          VariableOptions{.name = from.inputs(static_cast<int>(i)).name(), .dtype = input.spec.dtype}));
      lane.bound[i] = lane.accumulators[i].handle();
    } else if (input.kind == Kind::Collective || input.kind == Kind::LossShare) {
      lane.bound[i] = input.kind == Kind::Collective ? devices.collective(number) : devices.loss_share(number);
    }
  }
}

std::vector<WorkerFunction::Lane> make_lanes(const proto::RegisterWorkerProto& from, const WorkerFunction& function,
                                             const WorkerDevices& devices, int count) {
  std::vector<WorkerFunction::Lane> lanes(static_cast<std::size_t>(count));
  for (int number = 0; number < count; ++number) {
    WorkerFunction::Lane& lane = lanes[static_cast<std::size_t>(number)];
    lane.values.resize(static_cast<std::size_t>(from.slots()));
    lane.fixed.resize(static_cast<std::size_t>(from.slots()));
    lane.bound.resize(function.inputs.size());
    lane.accumulators.resize(function.inputs.size());
    bind_resources(lane, from, function, devices, number);
    for (const WorkerFunction::Stage& stage : function.stages) {
      WorkerFunction::Lane::StageState& state = lane.stages.emplace_back();
      state.bound.resize(stage.inputs.size());
      state.results.resize(stage.outputs.size());
    }
  }
  return lanes;
}

// Puts a graph's resources behind its other inputs, and likewise where these come from. Gives the number of the others.
std::size_t put_resources_last(Graph& graph, std::vector<int>& sources) {
  std::vector<int> order(sources.size());
  std::iota(order.begin(), order.end(), 0);
  const auto split = std::stable_partition(order.begin(), order.end(), [&](int i) {
    return graph.spec({graph.inputs[static_cast<std::size_t>(i)], 0}).dtype != DType::Resource;
  });
  const std::vector<std::int32_t> nodes(graph.inputs.begin(), graph.inputs.end());
  const std::vector<int> before = sources;
  for (std::size_t i = 0; i < order.size(); ++i) {
    graph.inputs[i] = nodes[static_cast<std::size_t>(order[i])];
    sources[i] = before[static_cast<std::size_t>(order[i])];
  }
  return static_cast<std::size_t>(split - order.begin());
}

// What a stage makes is on its way to the servers before the stage has ended.
void join_stage_to_exchanges(WorkerFunction::Stage& stage, std::vector<WorkerFunction::Exchange>& exchanges) {
  for (std::size_t e = 0; e < exchanges.size(); ++e) {
    WorkerFunction::Exchange& exchange = exchanges[e];
    exchange.follows_stage.resize(exchange.sent.size());
    for (std::size_t part = 0; part < exchange.sent.size(); ++part) {
      const auto output = std::find(stage.outputs.begin(), stage.outputs.end(), ~exchange.sent[part]);
      if (exchange.sent[part] >= 0 || output == stage.outputs.end()) continue;
      exchange.follows_stage[part] = true;
      stage.sent[static_cast<std::size_t>(output - stage.outputs.begin())].push_back({e, part});
    }
  }
}

}  // namespace

std::uint64_t WorkerFunction::PsCall::version() const {
  std::uint64_t oldest = replicas.empty() ? 0 : replicas.front()->version;
  for (const auto& replica : replicas) oldest = std::min(oldest, replica->version);
  return oldest;
}

std::size_t WorkerFunction::PsCall::bytes() const {
  std::size_t sent = 0, received = answer_bytes;
  for (const Tensor& part : request.parts) sent += part.bytes();
  for (const auto& replica : replicas) {
    if (replica->version == 0) received += replica->bytes;
  }
  return std::max(sent, received);
}

const Tensor* WorkerFunction::PsCall::value_at(std::size_t part) const {
  return part < reply.parts.size() && reply.parts[part].defined() ? &reply.parts[part] : nullptr;
}

void WorkerFunction::PsCall::install(std::size_t first, std::size_t lane, Device& device) {
  for (std::size_t i = 0; i < replicas.size(); ++i) {
    const Tensor* value = value_at(first + i);
    if (value) replicas[i]->copies[lane].variable->replace_value(seen_from(*value, device));
  }
}

void WorkerFunction::PsCall::add_writes(std::size_t first, std::size_t lane, std::vector<DeviceCopies::Write>& writes) {
  for (std::size_t i = 0; i < replicas.size(); ++i) {
    const Tensor* value = value_at(first + i);
    if (!value) continue;
    Replica::Copy& copy = replicas[i]->copies[lane];
    copy.variable->check_value(value->spec());
    writes.push_back({copy.variable.get(), *value, &copy.way});
  }
}

void WorkerFunction::PsCall::take_version(std::size_t first) {
  answer_bytes = 0;
  for (std::size_t i = 0; i < replicas.size(); ++i) {
    if (value_at(first + i)) answer_bytes += replicas[i]->bytes;
    replicas[i]->version = reply.head.version;
  }
}

void WorkerFunction::drop_elements() {
  const auto is_element = [this](int source) {
    return source >= 0 && inputs[static_cast<std::size_t>(source)].kind == Input::Kind::Element;
  };
  for (Lane& lane : lanes) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (is_element(static_cast<int>(i))) lane.bound[i] = {};
    }
    for (std::size_t number = 0; number < stages.size(); ++number) {
      for (std::size_t i = 0; i < stages[number].inputs.size(); ++i) {
        if (is_element(stages[number].inputs[i])) lane.stages[number].bound[i] = {};
      }
    }
  }
}

std::unique_ptr<WorkerFunction> make_worker_function(
    const proto::RegisterWorkerProto& from, const ConstantTable& constants, const WorkerDevices& devices,
    const std::function<std::shared_ptr<Replica>(const std::string&, int, const TensorSpec&)>& find_replica) {
  using Kind = WorkerFunction::Input::Kind;
  auto function = std::make_unique<WorkerFunction>();
  const int inputs = from.inputs_size(), slots = from.slots(), num_ps = from.ps_size();
  const int replicas = read_replicas(from.replicas(), devices);
  MemoryCheck memory;
  for (const proto::InputProto& input : from.inputs()) {
    function->inputs.push_back(read_input(input, num_ps, memory, find_replica));
  }
  if (slots < 0 || slots > 1'000'000) {
    throw invalid_argument("Server", "a function's slots are expected", {{"slots", slots}});
  }
  for (const WorkerFunction::Input& input : function->inputs) {
    function->meets |= input.kind == Kind::Collective;
    if (input.kind == Kind::Element && (input.pull < 0 || input.pull >= from.pulls_size() || input.leaf < 0)) {
      throw invalid_argument("Server", "a tensor of an element that is taken is expected", {{"pull", input.pull}});
    }
    if (replicas == 1 && (input.kind == Kind::Collective || input.kind == Kind::LossShare)) {
      throw invalid_argument("Server", "what replicas share is for functions of several", {{"replicas", replicas}});
    }
  }
  const auto replica_at = [&](int input) {
    if (input < 0 || input >= inputs || function->inputs[static_cast<std::size_t>(input)].kind != Kind::Replica) {
      throw invalid_argument("Server", "a replica of the function is expected", {{"input", input}});
    }
    return function->inputs[static_cast<std::size_t>(input)].replica;
  };
  for (const proto::StageProto& stage : from.stages()) {
    const std::shared_ptr<Graph> graph = parse_graph(stage.graph(), constants);
    WorkerFunction::Stage made;
    made.inputs = read_sources(stage.inputs(), inputs, slots);
    made.outputs = read_slots(stage.outputs(), slots);
    if (made.inputs.size() != graph->inputs.size() || made.outputs.size() != graph->outputs.size()) {
      throw invalid_argument("Server", "a stage must say where its graph's inputs and outputs are",
                             {{"inputs", made.inputs.size()}, {"outputs", made.outputs.size()}});
    }
    check_collectives(*graph, made.inputs, *function);
    made.values = put_resources_last(*graph, made.inputs);
    made.sent.resize(made.outputs.size());
    made.executables = std::make_unique<ExecutableCache>(graph);
    function->stages.push_back(std::move(made));
  }
  for (const proto::RoundProto& round : from.rounds()) {
    std::vector<WorkerFunction::Exchange>& exchanges = function->rounds.emplace_back();
    for (const proto::ExchangeProto& exchange : round.exchanges()) {
      WorkerFunction::Exchange made;
      made.ps = read_ps(exchange.ps(), num_ps);
      check_is_new(made.ps, exchanges);
      made.sent = read_sources(exchange.sent(), inputs, slots);
      made.returned = read_slots(exchange.returned(), slots);
      for (int input : exchange.fresh()) made.replicas.push_back(replica_at(input));
      made.request.parts.resize(made.sent.size());
      exchanges.push_back(std::move(made));
    }
  }
  if (function->stages.size() != function->rounds.size() + 1) {
    throw invalid_argument("Server", "a function has one stage more than rounds",
                           {{"stages", function->stages.size()}, {"rounds", function->rounds.size()}});
  }
  for (std::size_t i = 0; i < function->rounds.size(); ++i) {
    join_stage_to_exchanges(function->stages[i], function->rounds[i]);
  }
  function->lanes = make_lanes(from, *function, devices, replicas);
  function->joins_outputs = from.joins_outputs();
  function->outputs = read_sources(from.outputs(), inputs, slots);
  function->pulls.assign(from.pulls().begin(), from.pulls().end());

  for (const proto::PullProto& pull : from.ps_pulls()) {
    WorkerFunction::Pull made;
    made.ps = read_ps(pull.ps(), num_ps);
    check_is_new(made.ps, function->ps_pulls);
    for (int input : pull.inputs()) made.replicas.push_back(replica_at(input));
    for (const auto& round : function->rounds) {
      for (const WorkerFunction::Exchange& exchange : round) {
        made.pushed |= exchange.ps == made.ps && exchange.replicas.size() == made.replicas.size();
      }
    }
    if (!made.replicas.empty()) function->ps_pulls.push_back(std::move(made));
  }
  return function;
}

}  // namespace cohort::distribute
