#include "cohort/graph/graph.h"

#include <sstream>

#include "cohort/core/text.h"

namespace cohort {
namespace {

std::string reference(const Graph& graph, Value value) {
  std::string text = "%" + std::to_string(value.node);
  if (graph.nodes[static_cast<std::size_t>(value.node)].outputs.size() > 1) text += "." + std::to_string(value.output);
  return text;
}

std::string escape(const std::string& text) {
  std::string result;
  for (char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result;
}

}  // namespace

Specs Graph::input_specs() const {
  Specs specs;
  for (int input : inputs) specs.push_back(nodes[static_cast<std::size_t>(input)].outputs[0]);
  return specs;
}

Value Graph::add(const OpDef& op, std::vector<Value> inputs, Attributes attributes, std::string name) {
  Specs specs;
  for (const Value& input : inputs) specs.push_back(spec(input));
  Node node;
  node.op = &op;
  node.outputs = op.infer_outputs(specs, attributes);
  node.inputs = std::move(inputs);
  node.attributes = std::move(attributes);
  node.name = std::move(name);
  nodes.push_back(std::move(node));
  return {static_cast<int>(nodes.size()) - 1, 0};
}

std::vector<std::vector<std::pair<int, int>>> Graph::users() const {
  std::vector<std::vector<std::pair<int, int>>> result(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (std::size_t position = 0; position < nodes[i].inputs.size(); ++position) {
      result[static_cast<std::size_t>(nodes[i].inputs[position].node)].emplace_back(static_cast<int>(i),
                                                                                    static_cast<int>(position));
    }
  }
  return result;
}

std::string Graph::to_string() const {
  const auto reference_of = [this](const Value& value) { return reference(*this, value); };
  std::ostringstream text;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const Node& node = nodes[i];
    text << '%' << i << " = " << node.op->name() << '(';
    text << join(node.inputs, reference_of) << ')';
    if (node.attributes.size() > 0) text << " {" << node.attributes.to_string() << '}';
    if (!node.outputs.empty()) text << " : ";
    text << join(node.outputs, &TensorSpec::to_string);
    if (!node.device.empty()) text << " @" << node.device;
    if (!node.name.empty()) text << "   # " << node.name;
    text << '\n';
  }
  text << "return ";
  text << join(outputs, reference_of) << '\n';
  return text.str();
}

std::string Graph::to_dot() const {
  std::ostringstream text;
  text << "digraph cohort {\n  node [shape=box, fontname=\"Helvetica\"];\n";
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const Node& node = nodes[i];
    text << "  n" << i << " [label=\"" << escape(node.op->name());
    if (!node.name.empty()) text << "\\n" << escape(node.name);
    text << "\"];\n";
    for (const Value& input : node.inputs) {
      text << "  n" << input.node << " -> n" << i << " [label=\"" << escape(spec(input).to_string()) << "\"];\n";
    }
  }
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    text << "  out" << k << " [shape=ellipse, label=\"output " << k << "\"];\n  n" << outputs[k].node << " -> out" << k
         << ";\n";
  }
  text << "}\n";
  return text.str();
}

const Tensor* ConstantTable::find(const std::string& hash) const {
  for (const auto& [key, tensor] : tensors) {
    if (key == hash) return &tensor;
  }
  return nullptr;
}

}  // namespace cohort
