#include "cohort/model/symbols/symbolic_tensor.h"

#include "cohort/graph/trace.h"
#include "cohort/model/layer/input_layer.h"

namespace cohort {

InputLayer::InputLayer(const Shape& shape, InputOptions options) {
  batch_shape_ = {options.batch_size};
  for (std::int64_t size : shape) batch_shape_.push_back(size);
  dtype_ = options.dtype;
  if (!options.name.empty()) set_name(std::move(options.name));
  fields_changed();
}

Tensor InputLayer::call(const Tensor& input, const CallContext&) { return input; }

void InputLayer::visit_fields(FieldVisitor& visitor) {
  visitor.field("batch_shape", batch_shape_);
  visitor.field("dtype", dtype_);
  std::string name = this->name();
  visitor.field("name", name);
  set_name(std::move(name));
}

void InputLayer::fields_changed() {
  spec_ = {dtype_, batch_shape_};
  mark_built();
}

COHORT_REGISTER(Layer, InputLayer, "InputLayer");

SymbolicTensor Input(const Shape& shape, InputOptions options) {
  auto layer = std::make_shared<InputLayer>(shape, std::move(options));
  layer->name();  // names follow the order in which inputs are made
  return layer->input_symbol();
}

SymbolicTensor InputLayer::input_symbol() {
  if (!inbound_calls().empty()) return output();
  return add_call(Symbols(), ElementSpec(spec_)).leaf();
}

Symbols Layer::add_call(const Symbols& inputs, const ElementSpec& outputs, const Attributes& arguments) {
  auto call = std::make_shared<LayerCall>();
  call->layer = weak_from_this().lock();
  if (!call->layer) {
    throw failed_precondition(title(), "a layer called on symbols must be shared", {},
                              "Make it by its handle or by ch::make<...>(...), not on the stack.");
  }
  call->inputs = inputs;
  call->outputs = outputs;
  call->arguments = arguments;
  call->index = static_cast<int>(inbound_calls_.size());
  std::vector<Shape> shapes;
  std::vector<SymbolicTensor> symbols;
  for (const TensorSpec& spec : outputs.flatten()) {
    shapes.push_back(spec.shape);
    symbols.emplace_back(spec, call, static_cast<int>(symbols.size()));
  }
  std::lock_guard lock(mutex_);
  inbound_calls_.push_back(call);
  output_shapes_ = std::move(shapes);
  return outputs.with_leaves(symbols);
}

Symbols Layer::apply_symbols(const Symbols& inputs, const Attributes& arguments) {
  Specs specs;
  for (const SymbolicTensor& symbol : inputs.flatten()) {
    if (!symbol.defined()) {
      throw invalid_argument(title(), "a symbol made by Input or by a layer is expected");
    }
    specs.push_back(symbol.spec());
  }
  if (weak_from_this().expired()) return add_call(inputs, {});  // throws
  // The graph is thrown away: only its shapes are wanted, and the weights that came to be.
  ElementSpec outputs;
  trace(specs, [&](const Tensors& leaves) {
    const Element result = apply(inputs.with_leaves(leaves), {.arguments = arguments});
    outputs = spec_of(result);
    return result.flatten();
  });
  clear_losses();
  return add_call(inputs, outputs, arguments);
}

namespace {

// What a call on symbols keeps of its options.
Attributes call_arguments(const Layer& layer, const CallOptions& options) {
  if (!options.mask.empty()) {
    throw invalid_argument(layer.title(), "a call on symbols takes its masks from the layers before it", {},
                           "Use a Masking layer, or a named argument of apply_symbols.");
  }
  Attributes arguments = options.arguments;
  if (options.training) arguments.set("training", *options.training);
  return arguments;
}

}  // namespace

SymbolicOutputs Layer::operator()(const SymbolicTensor& input, const CallOptions& options) {
  return SymbolicOutputs(apply_symbols(input, call_arguments(*this, options)));
}

SymbolicOutputs Layer::operator()(const std::vector<SymbolicTensor>& inputs, const CallOptions& options) {
  return SymbolicOutputs(apply_symbols(inputs, call_arguments(*this, options)));
}

SymbolicOutputs Layer::operator()(const SymbolicOutputs& inputs, const CallOptions& options) {
  const std::vector<SymbolicTensor> all = inputs;
  return SymbolicOutputs(
      apply_symbols(all.size() == 1 ? Symbols(all[0]) : inputs.symbols(), call_arguments(*this, options)));
}

namespace {

// The layer that the outputs come from, for errors.
std::string source_of(const Symbols& symbols) {
  const std::vector<SymbolicTensor> all = symbols.flatten();
  if (all.empty() || !all[0].defined()) return "outputs";
  return all[0].source()->layer->title();
}

}  // namespace

const SymbolicTensor& SymbolicOutputs::one() const {
  if (all_.size() == 1) return all_[0];
  throw failed_precondition(source_of(symbols_), "one output is expected where its call is used as a symbol",
                            {{"outputs", all_.size()}},
                            "Take one of them: layer(x)[0], or all: auto [a, b] = layer(x).unpack<2>().");
}

void SymbolicOutputs::check_count(std::size_t count) const {
  if (all_.size() == count) return;
  throw invalid_argument(source_of(symbols_), "unpack<N>() names as many outputs as there are",
                         {{"N", count}, {"outputs", all_.size()}});
}

SymbolicOutputs SymbolicOutputs::operator[](std::size_t place) const {
  if (symbols_.is_leaf() || place >= symbols_.size()) {
    throw invalid_argument(source_of(symbols_), "a place among several outputs is expected",
                           {{"place", place}, {"outputs", size()}},
                           symbols_.is_leaf() ? "Slices of one symbol are made by ops::take_at." : "");
  }
  return SymbolicOutputs(Symbols(symbols_[place]));
}

SymbolicOutputs SymbolicOutputs::operator[](std::string_view name) const {
  const Tree<SymbolicTensor>* found = symbols_.find(name);
  if (!found) throw not_found(source_of(symbols_), "the name of an output is expected", {{"name", name}});
  return SymbolicOutputs(Symbols(*found));
}

namespace {

std::shared_ptr<LayerCall> only_call(const Layer& layer) {
  const auto& calls = layer.inbound_calls();
  std::shared_ptr<LayerCall> call = calls.size() == 1 ? calls[0].lock() : nullptr;
  if (!call) {
    throw failed_precondition(layer.title(), "input() and output() need a layer that was called on symbols once",
                              {{"calls", calls.size()}});
  }
  return call;
}

}  // namespace

SymbolicOutputs Layer::input() const { return SymbolicOutputs(only_call(*this)->inputs); }

SymbolicOutputs Layer::output() const {
  const std::shared_ptr<LayerCall> call = only_call(*this);
  std::vector<SymbolicTensor> symbols;
  for (const TensorSpec& spec : call->outputs.flatten()) {
    symbols.emplace_back(spec, call, static_cast<int>(symbols.size()));
  }
  return SymbolicOutputs(Symbols(call->outputs.with_leaves(symbols)));
}

}  // namespace cohort
