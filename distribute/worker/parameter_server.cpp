#include "cohort/distribute/worker/parameter_server.h"

#include "cohort/distribute/protocol/message_flags.h"
#include "cohort/distribute/protocol/messages.pb.h"
#include "cohort/graph/graph_proto.h"
#include "cohort/graph/partition.h"
#include "cohort/variables/variable_body.h"

namespace cohort::distribute {

Tensor ParameterServer::variable_handle(const std::string& name) const {
  const auto found = variables_.find(name);
  if (found == variables_.end()) {
    throw not_found("Server", "a variable of this task is expected", {{"variable", name}});
  }
  return found->second.handle();
}

void ParameterServer::create_variable(const Request<Method::CreateVariable>& request,
                                      Reply<Method::CreateVariable>& reply) {
  const proto::CreateVariableProto& from = request.metadata;
  constants_.take(from.constants(), request.parts);
  const TensorSpec spec = read_spec(from.spec());
  const auto graph = parse_graph(from.initial(), constants_.table());
  if (!graph->inputs.empty() || graph->outputs.size() != 1) {
    throw invalid_argument("Server", "an initial value is a graph without inputs and with one output",
                           {{"variable", from.name()}});
  }
  std::lock_guard lock(mutex_);
  if (const auto known = variables_.find(from.name()); known != variables_.end()) {
    if (known->second.shape() != spec.shape || known->second.dtype() != spec.dtype) {
      throw invalid_argument("Server", "a variable that is there already must have the type and shape asked for",
                             {{"variable", from.name()},
                              {"shape", known->second.shape()},
                              {"dtype", known->second.dtype()},
                              {"asked", spec}});
    }
  } else {
    Tensors value(1);
    ExecutableCache(graph).run({}, value, {.seed = from.seed()});
    if (value[0].spec() != spec) {
      throw invalid_argument("Server", "an initial value must have its variable's type and shape",
                             {{"variable", from.name()}, {"value", value[0].spec()}, {"variable.spec", spec}});
    }
    variables_.emplace(from.name(),
                       Variable(std::make_shared<LocalVariable>(
                           std::move(value[0]), VariableOptions{.name = from.name(), .dtype = spec.dtype})));
    ++version_;
  }
  reply.head.version = version_;
}

template <class Names>
ParameterServer::Part ParameterServer::make_part(const std::string& bytes, const Names& resources, bool writes,
                                                 const ConstantTable& constants) const {
  Part part;
  const std::shared_ptr<Graph> graph = parse_graph(bytes, constants);
  if (graph->inputs.size() < static_cast<std::size_t>(resources.size())) {
    throw invalid_argument("Server", "a function's graph must have an input for each variable",
                           {{"inputs", graph->inputs.size()}, {"variables", resources.size()}});
  }
  part.sent = graph->inputs.size() - static_cast<std::size_t>(resources.size());
  part.inputs.resize(part.sent);
  for (const std::string& name : resources) part.inputs.push_back(variable_handle(name));
  for (std::size_t i = 0; i < graph->inputs.size(); ++i) {
    const bool resource = graph->input_specs()[i].dtype == DType::Resource;
    if (resource != (i >= part.sent)) {
      throw invalid_argument("Server", "a function's graph takes tensors first, then variables", {{"input", i}});
    }
  }
  part.writes = writes;
  if (writes) part.repeat = std::make_unique<ExecutableCache>(std::make_shared<Graph>(without_writes(*graph)));
  part.apply = std::make_unique<ExecutableCache>(graph);
  return part;
}

void ParameterServer::register_function(const Request<Method::RegisterServer>& request,
                                        Reply<Method::RegisterServer>& reply) {
  const proto::RegisterServerProto& from = request.metadata;
  constants_.take(from.constants(), request.parts);
  const ConstantTable constants = constants_.table();
  std::lock_guard lock(mutex_);
  ServerFunction function;
  for (const proto::ServerPartProto& part : from.parts()) {
    if (part.round() >= AppliedBundles::kMostRounds) {
      throw invalid_argument("Server", "a function has at most 64 rounds", {{"round", part.round()}});
    }
    if (function.rounds.size() <= part.round()) function.rounds.resize(part.round() + 1);
    function.rounds[part.round()] = make_part(part.graph(), part.resources(), part.writes(), constants);
  }
  if (!from.pull().empty()) function.pull = make_part(from.pull(), from.pulled(), false, constants);
  functions_.insert_or_assign(request.head.function, std::move(function));
  reply.head.version = version_;
}

void ParameterServer::run(Part& part, bool apply, const Tensors& sent, Tensors& reply) {
  if (sent.size() != part.sent) {
    throw invalid_argument("Server", "an exchange must bring what its function's graph takes",
                           {{"parts", sent.size()}, {"expected", part.sent}});
  }
  ExecutableCache& executables = apply ? *part.apply : *part.repeat;
  Device& device = default_device();
  for (std::size_t i = 0; i < part.sent; ++i) part.inputs[i] = sent[i].to(device);
  reply.resize(executables.graph()->outputs.size());
  executables.run(part.inputs, reply, {}, device);
  for (std::size_t i = 0; i < part.sent; ++i) part.inputs[i] = {};
  if (!device.host_readable()) {
    for (Tensor& value : reply) value = value.to_host();
  }
}

void ParameterServer::exchange(const Request<Method::Exchange>& request, Reply<Method::Exchange>& reply) {
  const Head& head = request.head;
  std::lock_guard lock(mutex_);
  const auto found = functions_.find(head.function);
  if (found == functions_.end()) {
    throw not_found("Server", "a function that was registered on this task is expected", {{"function", head.function}});
  }
  ServerFunction& function = found->second;
  applied_.forget_below(head.all_done_below);
  if (head.flags & kPull) {
    reply.parts.clear();
    if (head.version == version_) {
      reply.head.flags = kUnchanged;
    } else if (function.pull.apply) {
      run(function.pull, true, request.parts, reply.parts);
    }
    reply.head.version = version_;
    return;
  }
  if (head.round >= function.rounds.size() || !function.rounds[head.round].apply) {
    throw invalid_argument("Server", "a round of the function is expected",
                           {{"round", head.round}, {"rounds", function.rounds.size()}});
  }
  Part& part = function.rounds[head.round];
  if (!part.writes) {
    run(part, true, request.parts, reply.parts);
  } else if (!applied_.insert(head.closure, head.step, head.round)) {
    run(part, false, request.parts, reply.parts);
  } else {
    try {
      run(part, true, request.parts, reply.parts);
    } catch (...) {
      applied_.erase(head.closure, head.step, head.round);
      throw;
    }
    ++version_;
  }
  reply.head.version = version_;
}

void ParameterServer::run_graph(const Request<Method::RunGraph>& request, Reply<Method::RunGraph>& reply) {
  const proto::RunGraphProto& from = request.metadata;
  std::size_t part = constants_.take(from.constants(), request.parts);
  std::shared_ptr<const Graph> graph = parse_graph(from.graph(), constants_.table());
  if (static_cast<std::size_t>(from.inputs_size()) != graph->inputs.size()) {
    throw invalid_argument("Server", "a graph must be given its inputs",
                           {{"inputs", from.inputs_size()}, {"expected", graph->inputs.size()}});
  }
  std::lock_guard lock(mutex_);
  Tensors inputs;
  for (const std::string& name : from.inputs()) {
    if (!name.empty()) {
      inputs.push_back(variable_handle(name));
    } else if (part < request.parts.size()) {
      inputs.push_back(request.parts[part++].to(default_device()));
    } else {
      throw invalid_argument("Server", "a graph must be given its inputs", {{"parts", request.parts.size()}});
    }
  }
  // The chief's own writes come one after the other, so a repeat is the newest one.
  const bool repeated = from.writes() && request.head.closure <= last_run_;
  if (repeated) graph = std::make_shared<Graph>(without_writes(*graph));
  reply.parts.resize(graph->outputs.size());
  ExecutableCache(graph).run(inputs, reply.parts, {.seed = from.seed()});
  for (Tensor& value : reply.parts) value = value.to_host();
  if (from.writes() && !repeated) {
    last_run_ = request.head.closure;
    ++version_;
  }
  reply.head.version = version_;
}

}  // namespace cohort::distribute
