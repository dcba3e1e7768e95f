#include "cohort/graph/graph_file.h"

#include <google/protobuf/stubs/logging.h>

#include <vector>

#include "cohort/graph/graph.pb.h"
#include "cohort/graph/graph_proto.h"

namespace cohort {
namespace {

using proto::AttributeProto;

Error malformed(const std::string& what) {
  return Error(ErrorCode::DataLoss, "Graph", "the bytes of a graph are malformed: " + what);
}

void write_attribute(const Attributes::Entry& entry, ConstantTable* constants, AttributeProto& out);

void write_graph(const Graph& graph, ConstantTable* constants, proto::GraphProto& out) {
  for (const Node& node : graph.nodes) {
    proto::NodeProto& to = *out.add_nodes();
    to.set_op(node.op->name());
    to.set_name(node.name);
    to.set_location(node.location);
    to.set_device(node.device);
    for (const Value& input : node.inputs) {
      auto* value = to.add_inputs();
      value->set_node(input.node);
      value->set_output(input.output);
    }
    for (const Attributes::Entry& entry : node.attributes) write_attribute(entry, constants, *to.add_attributes());
    for (const TensorSpec& spec : node.outputs) write_spec(spec, *to.add_outputs());
  }
  for (int input : graph.inputs) out.add_inputs(input);
  for (const Value& output : graph.outputs) {
    auto* value = out.add_outputs();
    value->set_node(output.node);
    value->set_output(output.output);
  }
}

void write_attribute(const Attributes::Entry& entry, ConstantTable* constants, AttributeProto& out) {
  out.set_name(entry.name);
  std::visit(
      [&](const auto& value) {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, bool>)
          out.set_boolean(value);
        else if constexpr (std::is_same_v<T, std::int64_t>)
          out.set_integer(value);
        else if constexpr (std::is_same_v<T, double>)
          out.set_real(value);
        else if constexpr (std::is_same_v<T, std::string>)
          out.set_text(value);
        else if constexpr (std::is_same_v<T, DType>)
          out.set_dtype(static_cast<int>(value));
        else if constexpr (std::is_same_v<T, Shape>)
          write_shape(value, *out.mutable_shape());
        else if constexpr (std::is_same_v<T, Tensor>) {
          if (constants && is_plain(value.dtype())) {
            const std::string hash = constant_hash(value);
            if (!constants->find(hash)) constants->tensors.emplace_back(hash, value);
            out.set_constant_hash(hash);
          } else {
            write_tensor(value, *out.mutable_tensor());
          }
        } else if constexpr (std::is_same_v<T, std::shared_ptr<const Graph>>) {
          write_graph(*value, constants, *out.mutable_graph());
        } else if constexpr (std::is_same_v<T, std::vector<std::int64_t>>) {
          auto* list = out.mutable_integers();
          for (std::int64_t v : value) list->add_values(v);
        } else if constexpr (std::is_same_v<T, std::vector<double>>) {
          auto* list = out.mutable_reals();
          for (double v : value) list->add_values(v);
        } else {
          auto* list = out.mutable_texts();
          for (const std::string& v : value) list->add_values(v);
        }
      },
      entry.value);
}

// What protobuf can hold in one message.
constexpr std::size_t kLargestMessage = 0x7fffffff;

template <class Message>
std::string to_bytes(const Message& message) {
  if (message.ByteSizeLong() > kLargestMessage) {
    throw Error(ErrorCode::ResourceExhausted, "Graph", "a graph with its constants must stay below 2 GiB",
                {{"bytes", message.ByteSizeLong()}}, "Serialise it with a table of constants beside it.");
  }
  return message.SerializeAsString();
}

template <class Message>
void from_bytes(std::string_view bytes, Message& message) {
  google::protobuf::LogSilencer quiet;  // what is wrong is said by the error
  if (bytes.size() > kLargestMessage || !message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    throw malformed("not a graph");
  }
}

constexpr int kDeepestGraph = 32;

AttributeValue read_attribute(const AttributeProto& from, const ConstantTable* constants, int depth);

std::shared_ptr<Graph> read_graph(const proto::GraphProto& from, const ConstantTable* constants, int depth) {
  if (depth > kDeepestGraph) throw malformed("graphs are nested too deeply");
  auto graph = std::make_shared<Graph>();
  auto read_value = [&](const proto::ValueProto& value) -> Value {
    if (value.node() < 0 || value.node() >= static_cast<int>(graph->nodes.size()))
      throw malformed("a value comes before its node");
    const Specs& outputs = graph->nodes[static_cast<std::size_t>(value.node())].outputs;
    if (value.output() < 0 || value.output() >= static_cast<int>(outputs.size()))
      throw malformed("a node lacks an output");
    return {value.node(), value.output()};
  };
  for (const proto::NodeProto& node : from.nodes()) {
    const OpDef& op = find_op(node.op());
    std::vector<Value> inputs;
    for (const auto& input : node.inputs()) inputs.push_back(read_value(input));
    Attributes attributes;
    for (const AttributeProto& attribute : node.attributes()) {
      attributes.set(attribute.name(), read_attribute(attribute, constants, depth));
    }
    // Shapes are inferred again, never trusted; what was sent must agree.
    graph->add(op, std::move(inputs), std::move(attributes), node.name());
    Node& added = graph->nodes.back();
    added.location = node.location();
    added.device = node.device();
    if (added.outputs.size() != static_cast<std::size_t>(node.outputs_size()))
      throw malformed("a node has another number of outputs");
    for (std::size_t i = 0; i < added.outputs.size(); ++i) {
      const TensorSpec claimed = read_spec(node.outputs(static_cast<int>(i)));
      if (claimed.dtype != added.outputs[i].dtype || !claimed.shape.compatible(added.outputs[i].shape)) {
        throw malformed("node '" + node.name() + "' claims a shape its op does not give");
      }
    }
  }
  for (int input : from.inputs()) {
    if (input < 0 || input >= static_cast<int>(graph->nodes.size()) ||
        graph->nodes[static_cast<std::size_t>(input)].op->name() != "Input") {
      throw malformed("an input is not an Input node");
    }
    graph->inputs.push_back(input);
  }
  std::vector<int> listed(graph->nodes.size());
  for (const int input : graph->inputs) ++listed[static_cast<std::size_t>(input)];
  for (std::size_t i = 0; i < graph->nodes.size(); ++i) {
    if (listed[i] != (graph->nodes[i].op->name() == "Input" ? 1 : 0))
      throw malformed("inputs and Input nodes do not agree");
  }
  for (const auto& output : from.outputs()) graph->outputs.push_back(read_value(output));
  return graph;
}

AttributeValue read_attribute(const AttributeProto& from, const ConstantTable* constants, int depth) {
  switch (from.value_case()) {
    case AttributeProto::kBoolean:
      return from.boolean();
    case AttributeProto::kInteger:
      return std::int64_t{from.integer()};
    case AttributeProto::kReal:
      return from.real();
    case AttributeProto::kText:
      return from.text();
    case AttributeProto::kDtype:
      return read_dtype(from.dtype());
    case AttributeProto::kShape:
      return read_shape(from.shape());
    case AttributeProto::kIntegers:
      return std::vector<std::int64_t>(from.integers().values().begin(), from.integers().values().end());
    case AttributeProto::kReals:
      return std::vector<double>(from.reals().values().begin(), from.reals().values().end());
    case AttributeProto::kTexts:
      return std::vector<std::string>(from.texts().values().begin(), from.texts().values().end());
    case AttributeProto::kConstantHash: {
      const Tensor* value = constants ? constants->find(from.constant_hash()) : nullptr;
      if (!value) throw malformed("constant " + from.constant_hash() + " is missing");
      return *value;
    }
    case AttributeProto::kTensor:
      return read_tensor(from.tensor());
    case AttributeProto::kGraph:
      return std::shared_ptr<const Graph>(read_graph(from.graph(), constants, depth + 1));
    case AttributeProto::VALUE_NOT_SET:
      break;
  }
  throw malformed("attribute '" + from.name() + "' has no value");
}

}  // namespace

void write_shape(const Shape& shape, proto::ShapeProto& out) {
  for (std::int64_t size : shape) out.add_sizes(size);
}

Shape read_shape(const proto::ShapeProto& from) {
  if (from.sizes_size() > Shape::kMaxRank) throw malformed("a shape has too many axes");
  Shape shape;
  for (std::int64_t size : from.sizes()) {
    if (size < kUnknown) throw malformed("a shape has a negative size");
    shape.push_back(size);
  }
  return shape;
}

DType read_dtype(int number) {
  if (number < 0 || number >= kDTypeCount) throw malformed("an element type is unknown");
  return static_cast<DType>(number);
}

void write_spec(const TensorSpec& spec, proto::SpecProto& out) {
  out.set_dtype(static_cast<int>(spec.dtype));
  write_shape(spec.shape, *out.mutable_shape());
}

TensorSpec read_spec(const proto::SpecProto& from) { return {read_dtype(from.dtype()), read_shape(from.shape())}; }

void write_tensor(const Tensor& tensor, proto::TensorProto& out) {
  out.set_dtype(static_cast<int>(tensor.dtype()));
  write_shape(tensor.shape(), *out.mutable_shape());
  if (tensor.dtype() == DType::String) {
    for (std::string& text : tensor.to_strings()) out.add_strings(std::move(text));
  } else {
    const Tensor host = tensor.to_host();
    out.set_content(host.raw(), host.bytes());
  }
}

Tensor read_tensor(const proto::TensorProto& from) {
  const DType dtype = read_dtype(from.dtype());
  const Shape shape = read_shape(from.shape());
  if (!shape.fully_known() || dtype == DType::Resource) throw malformed("a tensor has no value");
  // Compared as a quotient: a huge shape must not wrap around to a small size.
  std::size_t left =
      dtype == DType::String ? static_cast<std::size_t>(from.strings_size()) : from.content().size() / size_of(dtype);
  if (dtype != DType::String && from.content().size() % size_of(dtype) != 0) throw malformed("a tensor is cut off");
  std::size_t wanted = 1;
  for (std::int64_t size : shape) {
    if (size != 0 && wanted > left / static_cast<std::size_t>(size))
      throw malformed("a tensor holds fewer bytes than its shape says");
    wanted *= static_cast<std::size_t>(size);
  }
  if (wanted != left) throw malformed("a tensor's bytes do not fit its shape");
  if (dtype == DType::String) return Tensor::of_strings({from.strings().begin(), from.strings().end()}, shape);
  Tensor tensor = Tensor::empty(dtype, shape, cpu());
  cpu().copy_from_host(tensor.raw(), from.content().data(), from.content().size());
  return tensor;
}

void write_attributes(const Attributes& attributes, ConstantTable* constants,
                      google::protobuf::RepeatedPtrField<AttributeProto>& out) {
  for (const Attributes::Entry& entry : attributes) write_attribute(entry, constants, *out.Add());
}

Attributes read_attributes(const google::protobuf::RepeatedPtrField<AttributeProto>& from,
                           const ConstantTable* constants) {
  Attributes attributes;
  for (const AttributeProto& attribute : from) {
    attributes.set(attribute.name(), read_attribute(attribute, constants, 0));
  }
  return attributes;
}

std::string serialize(const Graph& graph, ConstantTable& constants) {
  proto::GraphProto out;
  write_graph(graph, &constants, out);
  return to_bytes(out);
}

std::shared_ptr<Graph> parse_graph(std::string_view bytes, const ConstantTable& constants) {
  proto::GraphProto from;
  from_bytes(bytes, from);
  return read_graph(from, &constants, 0);
}

std::string serialize_with_constants(const Graph& graph) {
  proto::GraphFileProto out;
  ConstantTable constants;
  write_graph(graph, &constants, *out.mutable_graph());
  for (const auto& [hash, tensor] : constants.tensors) {
    auto* constant = out.add_constants();
    constant->set_hash(hash);
    write_tensor(tensor, *constant->mutable_value());
  }
  return to_bytes(out);
}

std::shared_ptr<Graph> parse_graph_with_constants(std::string_view bytes) {
  proto::GraphFileProto from;
  from_bytes(bytes, from);
  ConstantTable constants;
  for (const auto& constant : from.constants())
    constants.tensors.emplace_back(constant.hash(), read_tensor(constant.value()));
  return read_graph(from.graph(), &constants, 0);
}

}  // namespace cohort
