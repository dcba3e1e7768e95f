#include "cohort/graph/trace.h"

#include <atomic>
#include <cctype>
#include <optional>
#include <unordered_map>

#include "cohort/core/device_spec.h"
#include "cohort/core/masks.h"
#include "cohort/core/random.h"

namespace cohort {
namespace {

// Names of all scopes of the thread, so that it keeps its memory.
thread_local std::string scope_names;
std::atomic<std::uint64_t> traces_begun{0};

// "MatMul" -> "mat_mul"
std::string snake_case(const std::string& name) {
  std::string result;
  for (char c : name) {
    if (std::isupper(static_cast<unsigned char>(c))) {
      if (!result.empty()) result += '_';
      result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else {
      result += c;
    }
  }
  return result;
}

std::string location_text() {
  const std::source_location location = LocationScope::current();
  if (location.line() == 0) return {};
  std::string_view file = location.file_name();
  if (const auto slash = file.rfind('/'); slash != std::string_view::npos) file.remove_prefix(slash + 1);
  return std::string(file) + ":" + std::to_string(location.line());
}

// Appends a node for every op called while it is on top of the stack.
class Tracer : public Dispatcher {
 public:
  Tracer(const Specs& arguments, const Tensors& examples) {
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      arguments_.push_back(add_input(arguments[i], "argument", i < examples.size() ? examples[i].resource() : nullptr));
    }
  }

  const Tensors& arguments() const { return arguments_; }

  Tensors dispatch(const OpDef& op, const Tensors& inputs, const Attributes& attributes) override {
    std::vector<Value> values;
    for (const Tensor& input : inputs) values.push_back(value_of(input));
    return append(op, std::move(values), attributes);
  }

  TracedGraph finish(const Tensors& outputs) {
    for (const Tensor& output : outputs) graph_->outputs.push_back(value_of(output));
    for (const Tensor& argument : arguments_) graph_->inputs.push_back(argument.traced_value().node);
    for (int capture : capture_nodes_) graph_->inputs.push_back(capture);
    return {graph_, captures_, static_cast<int>(arguments_.size())};
  }

 private:
  Tensors append(const OpDef& op, std::vector<Value> inputs, const Attributes& attributes) {
    std::string name = unique_name(op);
    const Value first = [&] {
      try {
        return graph_->add(op, std::move(inputs), attributes, std::move(name));
      } catch (const Error& error) {
        // Which layer and which line of the user's program asked for what cannot be.
        const std::string_view scope = NameScope::current();
        if (scope.empty() || std::string_view(error.what()).find(scope) != std::string_view::npos) throw;
        throw Error(error.code(), std::string(error.what()) + " (in '" + std::string(scope) + "')");
      }
    }();
    Node& node = graph_->nodes.back();
    node.location = location_text();
    if (const DeviceSpec device = current_device_spec(); !device.empty()) node.device = device.to_string();
    Tensors outputs;
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      outputs.push_back(Tensor::symbolic(node.outputs[i], {id_, first.node, static_cast<int>(i)}));
    }
    return outputs;
  }

  Tensor add_input(const TensorSpec& spec, const char* name, std::shared_ptr<Resource> example = nullptr) {
    const Value value = graph_->add(find_op("Input"), {}, {{"dtype", spec.dtype}, {"shape", spec.shape}},
                                    std::string(name) + "_" + std::to_string(graph_->nodes.size()));
    return Tensor::symbolic(spec, {id_, value.node, 0}, std::move(example));
  }

  Value value_of(const Tensor& tensor) {
    if (!tensor.defined()) throw failed_precondition("trace", "a tensor must be given a value before it is used");
    if (tensor.is_symbolic() && tensor.traced_value().trace == id_)
      return {tensor.traced_value().node, tensor.traced_value().output};
    const void* key = tensor.key();
    if (auto known = outer_.find(key); known != outer_.end()) return known->second;
    Value value;
    if (tensor.is_symbolic() || tensor.dtype() == DType::Resource) {
      check_enclosing(tensor);
      value.node = add_input(tensor.spec(), "capture").traced_value().node;
      capture_nodes_.push_back(value.node);
      captures_.push_back(tensor);
    } else {
      value = graph_->add(find_op("Constant"), {}, {{"value", tensor.to_host()}},
                          "constant_" + std::to_string(graph_->nodes.size()));
    }
    outer_.emplace(key, value);
    kept_.push_back(tensor);  // its address is the key: it must not be reused
    return value;
  }

  void check_enclosing(const Tensor& tensor) const {
    if (!tensor.is_symbolic()) return;
    for (const auto* outer = innermost_.outer(); outer; outer = outer->outer()) {
      if (outer->value()->id_ == tensor.traced_value().trace) return;
    }
    throw failed_precondition("trace", "a symbolic tensor may be used only inside the trace that made it",
                              {{"tensor", tensor.spec()}},
                              "Return it from the traced function instead of keeping it in a variable of the program.");
  }

  std::string unique_name(const OpDef& op) {
    std::string name(NameScope::current());
    if (!name.empty()) name += '/';
    name += snake_case(op.name());
    const int count = names_[name]++;
    return count == 0 ? name : name + "_" + std::to_string(count);
  }

  const std::uint64_t id_ = ++traces_begun;
  const TraceScope current_{id_};
  const ThreadScope<Tracer, Tracer*> innermost_{this};
  std::shared_ptr<Graph> graph_ = std::make_shared<Graph>();
  Tensors arguments_, captures_, kept_;
  std::vector<int> capture_nodes_;
  std::unordered_map<const void*, Value> outer_;
  std::unordered_map<std::string, int> names_;
};

}  // namespace

TracedGraph trace(const Specs& arguments, const std::function<Tensors(const Tensors&)>& body, const Tensors& examples) {
  Tracer tracer(arguments, examples);
  DispatcherScope scope(tracer);
  MaskScope masks;
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
