#include "cohort/graph/specialize.h"

#include "cohort/core/device_spec.h"

namespace cohort {
namespace {

std::shared_ptr<const Graph> called_graph(const Node& node) {
  if (node.op->name() == "Call" || node.op->name() == "Remat")
    return node.attributes.get<std::shared_ptr<const Graph>>("graph");
  if (node.op->name() == "CustomGradient") return node.attributes.get<std::shared_ptr<const Graph>>("forward");
  return nullptr;
}

// The device a node asks for where its function was called on another one.
std::string device_in_call(const std::string& own, const std::string& call) {
  if (own.empty() || call.empty()) return own.empty() ? call : own;
  return DeviceSpec::from_string(call).make_merged_spec(DeviceSpec::from_string(own)).to_string();
}

// Copies `source` behind what `target` holds; `inputs` are the values of its inputs in target, `device` is what the
// call asks for. Returns its outputs.
std::vector<Value> splice(const Graph& source, const std::vector<Value>& inputs, Graph& target,
                          const std::string& device = {}) {
  std::vector<std::vector<Value>> values(source.nodes.size());
  for (std::size_t i = 0; i < source.inputs.size(); ++i) {
    values[static_cast<std::size_t>(source.inputs[i])] = {inputs.at(i)};
  }
  for (std::size_t i = 0; i < source.nodes.size(); ++i) {
    if (!values[i].empty()) continue;
    const Node& node = source.nodes[i];
    std::vector<Value> arguments;
    for (const Value& input : node.inputs) {
      arguments.push_back(values[static_cast<std::size_t>(input.node)][static_cast<std::size_t>(input.output)]);
    }
    if (auto inner = called_graph(node)) {
      values[i] = splice(*inner, arguments, target, device_in_call(node.device, device));
      continue;
    }
    Node copy = node;
    copy.device = device_in_call(node.device, device);
    copy.inputs = std::move(arguments);
    target.nodes.push_back(std::move(copy));
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      values[i].push_back({static_cast<int>(target.nodes.size()) - 1, static_cast<int>(k)});
    }
  }
  std::vector<Value> outputs;
  for (const Value& output : source.outputs) {
    outputs.push_back(values[static_cast<std::size_t>(output.node)][static_cast<std::size_t>(output.output)]);
  }
  return outputs;
}

}  // namespace

Graph specialize(const Graph& graph, std::span<const TensorSpec> inputs) {
  if (inputs.size() != graph.inputs.size()) {
    throw invalid_argument("Graph", "a value for each input is expected",
                           {{"values", inputs.size()}, {"inputs", graph.inputs.size()}});
  }
  Graph result = graph;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Node& node = result.nodes[static_cast<std::size_t>(result.inputs[i])];
    if (inputs[i].dtype != node.outputs[0].dtype || !inputs[i].shape.compatible(node.outputs[0].shape)) {
      throw invalid_argument("Graph", "inputs must fit the shapes the graph was traced for",
                             {{"input " + std::to_string(i), inputs[i]}, {"traced", node.outputs[0]}});
    }
    node.outputs[0] = inputs[i];
    node.attributes.set("shape", inputs[i].shape);
  }
  for (Node& node : result.nodes) {
    Specs specs;
    for (const Value& input : node.inputs) specs.push_back(result.spec(input));
    node.outputs = node.op->infer_outputs(specs, node.attributes);
  }
  return result;
}

Graph inline_calls(const Graph& graph) {
  Graph result;
  std::vector<Value> inputs;
  for (int input : graph.inputs) {
    result.nodes.push_back(graph.nodes[static_cast<std::size_t>(input)]);
    result.inputs.push_back(static_cast<int>(result.nodes.size()) - 1);
    inputs.push_back({result.inputs.back(), 0});
  }
  result.outputs = splice(graph, inputs, result);
  return result;
}

}  // namespace cohort
