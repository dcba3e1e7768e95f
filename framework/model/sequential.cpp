#include "cohort/model/sequential.h"

#include "cohort/core/text.h"
#include "cohort/graph/trace.h"
#include "cohort/model/fit/training.h"
#include "cohort/model/layer/input_layer.h"
#include "cohort/model/layer/layer_call_scope.h"

namespace cohort {

Sequential::Sequential(ModelOptions options) : Model(std::move(options)) {}

Sequential::Sequential(std::initializer_list<Ref<Layer>> layers, ModelOptions options)
    : Sequential(std::vector<Ref<Layer>>(layers), std::move(options)) {}

Sequential::Sequential(const std::vector<Ref<Layer>>& layers, ModelOptions options) : Model(std::move(options)) {
  for (const Ref<Layer>& layer : layers) add_without_building(layer);
  build_from_input();
}

std::string Sequential::class_name() const {
  return typeid(*this) == typeid(Sequential) ? "Sequential" : Layer::class_name();
}
std::string Sequential::module_name() const {
  return typeid(*this) == typeid(Sequential) ? "keras" : Layer::module_name();
}

void Sequential::add(Ref<Layer> layer) {
  add_without_building(std::move(layer));
  build_from_input();
}

void Sequential::add_without_building(Ref<Layer> layer) {
  if (!layer) throw invalid_argument("Sequential", "a layer must be given");
  layer->name();
  if (Ref<InputLayer> input = layer.as<InputLayer>()) {
    if (input_layer_ || !layers_.empty()) {
      throw invalid_argument(titled("Sequential", name()), "an Input stands first, once", {{"layer", layer->name()}});
    }
    input_layer_ = layer;
    return;
  }
  for (const Ref<Layer>& known : layers_) {
    if (known->name() == layer->name()) {
      throw invalid_argument(titled("Sequential", name()), "layers must have different names",
                             {{"name", layer->name()}}, "Give one of them another name.");
    }
  }
  track_layer(layer->name(), layer);
  layers_.push_back(std::move(layer));
  training().forget_programs();
}

void Sequential::pop() {
  if (layers_.empty()) throw failed_precondition("Sequential.pop", "there must be a layer to take off");
  layers_.pop_back();
  if (symbols_.size() > layers_.size() + 1) symbols_.pop_back();
  untrack_last_layer();
  training().forget_programs();
}

void Sequential::build_from_input() {
  if (!input_layer_ || layers_.empty()) return;
  build_for(input_layer_.as<InputLayer>()->spec());
  ensure_symbols();  // so that its layers have an output()
}

void Sequential::ensure_symbols() const {
  if (symbols_.empty()) {
    if (!input_layer_ && input_shape_.rank() == 0) {
      throw failed_precondition(titled("Sequential", name()), "the shape of the input must be known", {},
                                "Begin with an Input, or build the model first.");
    }
    symbols_.emplace_back(input_layer_ ? input_layer_.as<InputLayer>()->input_symbol() : Input(input_shape_.slice(1)));
  }
  while (symbols_.size() <= layers_.size()) {
    symbols_.push_back(layers_[symbols_.size() - 1]->apply_symbols(symbols_.back()));
  }
}

Symbols Sequential::inputs() const {
  ensure_symbols();
  return symbols_.front();
}

Symbols Sequential::outputs() const {
  ensure_symbols();
  return symbols_.back();
}

void Sequential::build(const Shape& input) { build_for({DType::Float32, input}); }

void Sequential::build_many(const std::vector<Shape>& inputs) {
  if (inputs.size() != 1 || inputs[0].rank() == 0) return;
  input_shape_ = inputs[0];
  input_shape_[0] = input_layer_ ? input_layer_.as<InputLayer>()->spec().shape[0] : kUnknown;
}

// Runs once on symbols, so that every layer meets its input's shape.
void Sequential::build_for(const TensorSpec& input) {
  trace({input}, [&](const Tensors& arguments) { return apply(arguments[0], {}).flatten(); });
  clear_losses();
}

Element Sequential::call_element(const Element& inputs, const CallContext& context) {
  if (layers_.empty()) {
    throw failed_precondition(titled("Sequential", name()), "a model needs a layer before it is called", {},
                              "Call add().");
  }
  Element value = inputs;
  if (input_layer_ && value.is_leaf()) {
    // As in Keras, a batch of any size is taken where the Input names one.
    Shape expected = input_layer_.as<InputLayer>()->spec().shape;
    if (expected.rank() > 0) expected[0] = kUnknown;
    if (!value.leaf().shape().compatible(expected)) {
      throw invalid_argument(titled("Sequential", name()), "the input must have shape " + expected.to_string(),
                             {{"shape", value.leaf().shape()}});
    }
  }
  Element mask = context.mask;
  for (const Ref<Layer>& layer : layers_) {
    value = layer->apply(value, {.training = context.training, .mask = mask});
    mask = {};  // what follows finds the masks its inputs carry
  }
  return value;
}

std::vector<Ref<Layer>> Sequential::layers() const { return layers_; }

std::vector<std::string> Sequential::output_names() const {
  return layers_.empty() ? std::vector<std::string>() : std::vector<std::string>{layers_.back()->name()};
}

}  // namespace cohort
