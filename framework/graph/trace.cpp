#include "cohort/graph/trace.h"

#include <optional>

#include "cohort/core/device_spec.h"
#include "cohort/core/random.h"
#include "cohort/graph/tracer.h"

namespace cohort {
namespace {

// Names of all scopes of the thread, so that it keeps its memory.
thread_local std::string scope_names;

}  // namespace

TracedGraph trace(const Specs& arguments, const std::function<Tensors(const Tensors&)>& body, const Tensors& examples) {
  Tracer tracer;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    tracer.add_argument(arguments[i], i < examples.size() ? examples[i].resource() : nullptr);
  }
  const Tracer::Scope scope(tracer);
  return tracer.finish(body(tracer.arguments()));
}

NameScope::NameScope(const std::string& name)
    : first_(First::innermost() ? First::innermost()->value() : scope_names.size()),
      length_before_(scope_names.size()) {
  if (scope_names.size() > first_.value()) scope_names += '/';
  scope_names += name;
}
NameScope::~NameScope() { scope_names.resize(length_before_); }

std::string_view NameScope::current() {
  const First* scope = First::innermost();
  return scope ? std::string_view(scope_names).substr(scope->value()) : std::string_view();
}

Tensors EagerScope::dispatch(const OpDef& op, const Tensors& inputs, const Attributes& attributes) {
  return run_eagerly(op, inputs, attributes);
}

Tensors inline_graph(const Graph& graph, const Tensors& inputs, std::uint64_t salt) {
  std::vector<Tensors> values(graph.nodes.size());
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    values[static_cast<std::size_t>(graph.inputs[i])] = {inputs.at(i)};
  }
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (!values[i].empty()) continue;
    if (node.op->name() == "Constant") {
      values[i] = {node.attributes.get<Tensor>("value")};
      continue;
    }
    Tensors arguments;
    for (const Value& input : node.inputs) {
      arguments.push_back(values[static_cast<std::size_t>(input.node)][static_cast<std::size_t>(input.output)]);
    }
    std::optional<DeviceScope> device;
    if (!node.device.empty()) device.emplace(DeviceSpec::from_string(node.device));
    if (salt != 0 && node.op->is_random() && node.attributes.has("seed")) {
      Attributes attributes = node.attributes;
      const auto seed = static_cast<std::uint64_t>(attributes.get<std::int64_t>("seed"));
      attributes.set("seed", AttributeValue(static_cast<std::int64_t>(hash_combine(seed, salt) >> 1)));
      values[i] = run_op_all(node.op->name(), arguments, attributes);
    } else {
      values[i] = run_op_all(node.op->name(), arguments, node.attributes);
    }
  }
  Tensors outputs;
  for (const Value& output : graph.outputs) {
    outputs.push_back(values[static_cast<std::size_t>(output.node)][static_cast<std::size_t>(output.output)]);
  }
  return outputs;
}

}  // namespace cohort
