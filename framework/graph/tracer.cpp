#include "cohort/graph/tracer.h"

#include <atomic>
#include <cctype>
#include <utility>

#include "cohort/core/device_spec.h"

namespace cohort {
namespace {

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

}  // namespace

std::uint64_t Tracer::next_id() {
  static std::atomic<std::uint64_t> begun{0};
  return ++begun;
}

Tensor Tracer::add_argument(const TensorSpec& spec, std::shared_ptr<Resource> example) {
  arguments_.push_back(add_input(spec, "argument_" + std::to_string(graph_->nodes.size()), std::move(example)));
  return arguments_.back();
}

Tensor Tracer::add_argument(const TensorSpec& spec, const std::string& name) {
  arguments_.push_back(add_input(spec, unique_name(name)));
  return arguments_.back();
}

Tensor Tracer::add_constant(const Tensor& value) {
  return append(find_op("Constant"), {}, {{"value", value.to_host()}})[0];
}

Tensors Tracer::dispatch(const OpDef& op, const Tensors& inputs, const Attributes& attributes) {
  std::vector<Value> values;
  for (const Tensor& input : inputs) values.push_back(value_of(input));
  return append(op, std::move(values), attributes);
}

TracedGraph Tracer::finish(const Tensors& outputs) {
  for (const Tensor& output : outputs) graph_->outputs.push_back(value_of(output));
  for (const Tensor& argument : arguments_) graph_->inputs.push_back(argument.traced_value().node);
  for (int capture : capture_nodes_) graph_->inputs.push_back(capture);
  return {graph_, captures_, static_cast<int>(arguments_.size())};
}

Tensors Tracer::append(const OpDef& op, std::vector<Value> inputs, const Attributes& attributes) {
  std::string name = unique_name(snake_case(op.name()));
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
  if (const DeviceSpec device = device_for({.op = op.name()}); !device.empty()) node.device = device.to_string();
  Tensors outputs;
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    outputs.push_back(Tensor::symbolic(node.outputs[i], {id_, first.node, static_cast<int>(i)}));
  }
  return outputs;
}

Tensor Tracer::add_input(const TensorSpec& spec, const std::string& name, std::shared_ptr<Resource> example) {
  const Value value = graph_->add(find_op("Input"), {}, {{"dtype", spec.dtype}, {"shape", spec.shape}}, name);
  return Tensor::symbolic(spec, {id_, value.node, 0}, std::move(example));
}

Value Tracer::value_of(const Tensor& tensor) {
  if (!tensor.defined()) throw failed_precondition("trace", "a tensor must be given a value before it is used");
  if (made(tensor)) return {tensor.traced_value().node, tensor.traced_value().output};
  const void* key = tensor.key();
  if (auto known = outer_.find(key); known != outer_.end()) return known->second;
  Value value;
  if (tensor.is_symbolic() || tensor.dtype() == DType::Resource) {
    check_enclosing(tensor);
    value.node = add_input(tensor.spec(), "capture_" + std::to_string(graph_->nodes.size())).traced_value().node;
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

void Tracer::check_enclosing(const Tensor& tensor) const {
  if (!tensor.is_symbolic()) return;
  for (const auto* scope = Scope::Innermost::innermost(); scope; scope = scope->outer()) {
    if (scope->value() != this && scope->value()->id_ == tensor.traced_value().trace) return;
  }
  throw failed_precondition("trace", "a symbolic tensor may be used only inside the trace that made it",
                            {{"tensor", tensor.spec()}},
                            "Return it from the traced function instead of keeping it in a variable of the program.");
}

std::string Tracer::unique_name(const std::string& own) {
  std::string name(NameScope::current());
  if (!name.empty()) name += '/';
  name += own;
  const int count = names_[name]++;
  return count == 0 ? name : name + "_" + std::to_string(count);
}

}  // namespace cohort
