#include <algorithm>
#include <set>
#include <sstream>

#include "cohort/summary/event.h"
#include "cohort/summary/graph_def.h"

namespace cohort::summary {
namespace {

void set_shape_proto(const Shape& shape, TensorShapeProto& proto) {
  for (const std::int64_t size : shape) proto.add_dim()->set_size(size);
}

// Long lists and tensors are told by their beginning: the page is for people.
void set_attribute_proto(const AttributeValue& value, AttrValue& proto) {
  constexpr std::size_t kMostValues = 32;
  std::visit(
      [&](const auto& held) {
        using T = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<T, bool>) {
          proto.set_b(held);
        } else if constexpr (std::is_same_v<T, std::int64_t>) {
          proto.set_i(held);
        } else if constexpr (std::is_same_v<T, double>) {
          proto.set_f(static_cast<float>(held));
        } else if constexpr (std::is_same_v<T, std::string>) {
          proto.set_s(held);
        } else if constexpr (std::is_same_v<T, DType>) {
          proto.set_type(tensorflow_dtype(held));
        } else if constexpr (std::is_same_v<T, Shape>) {
          set_shape_proto(held, *proto.mutable_shape());
        } else if constexpr (std::is_same_v<T, Tensor>) {
          std::ostringstream text;
          text << held.spec().to_string();
          if (is_plain(held.dtype()) && held.num_elements() == 1) text << " " << held.template item<double>();
          proto.set_s(text.str());
        } else if constexpr (std::is_same_v<T, std::shared_ptr<const Graph>>) {
          proto.set_s(std::to_string(held->nodes.size()) + " nodes");
        } else {
          AttrValue::ListValue& list = *proto.mutable_list();
          for (std::size_t i = 0; i < std::min(held.size(), kMostValues); ++i) {
            if constexpr (std::is_same_v<T, std::vector<std::int64_t>>) {
              list.add_i(held[i]);
            } else if constexpr (std::is_same_v<T, std::vector<double>>) {
              list.add_f(static_cast<float>(held[i]));
            } else {
              list.add_s(held[i]);
            }
          }
        }
      },
      value);
}

// Names of a graph's nodes below a scope: none twice, none with a character that means something in an input.
std::vector<std::string> names_of_nodes(const Graph& graph, const std::string& scope) {
  std::vector<std::string> names;
  std::set<std::string> taken;
  for (const Node& node : graph.nodes) {
    std::string name = scope + (node.name.empty() ? std::string(node.op->name()) : node.name);
    std::replace_if(
        name.begin(), name.end(), [](char c) { return c == ':' || c == '^'; }, '_');
    std::string unique = name;
    for (int i = 1; !taken.insert(unique).second; ++i) unique = name + "_" + std::to_string(i);
    names.push_back(std::move(unique));
  }
  return names;
}

// The page knows placeholders and variables by these names.
std::string op_shown_for(const Node& node) {
  if (node.op->name() != "Input") return std::string(node.op->name());
  return node.outputs[0].dtype == DType::Resource ? "VarHandleOp" : "Placeholder";
}

void add_node_protos(const Graph& graph, const std::string& scope, GraphDef& def) {
  const std::vector<std::string> names = names_of_nodes(graph, scope);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    NodeDef& proto = *def.add_node();
    proto.set_name(names[i]);
    proto.set_op(op_shown_for(node));
    proto.set_device(node.device);
    for (const Value& input : node.inputs) {
      const std::string& producer = names[static_cast<std::size_t>(input.node)];
      proto.add_input(input.output == 0 ? producer : producer + ":" + std::to_string(input.output));
    }
    auto& attributes = *proto.mutable_attr();
    for (const Attributes::Entry& entry : node.attributes) set_attribute_proto(entry.value, attributes[entry.name]);
    if (!node.outputs.empty()) {
      attributes["dtype"].set_type(tensorflow_dtype(node.outputs[0].dtype));
      // The page writes these beside the edges.
      AttrValue::ListValue& shapes = *attributes["_output_shapes"].mutable_list();
      for (const TensorSpec& output : node.outputs) set_shape_proto(output.shape, *shapes.add_shape());
    }
    if (!node.location.empty()) attributes["location"].set_s(node.location);
    for (const Attributes::Entry& entry : node.attributes) {
      if (const auto* inner = std::get_if<std::shared_ptr<const Graph>>(&entry.value); inner && *inner) {
        add_node_protos(**inner, names[i] + "/" + entry.name + "/", def);
      }
    }
  }
}

}  // namespace

GraphDef graph_def(const Graph& graph) {
  GraphDef def;
  def.mutable_versions()->set_producer(1);
  add_node_protos(graph, "", def);
  return def;
}

}  // namespace cohort::summary
