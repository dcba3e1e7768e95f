#include "cohort/autodiff/tape.h"
#include "cohort/core/masks.h"
#include "cohort/layers/preprocessing/adaptable.h"
#include "cohort/model/layer/layer.h"
#include "cohort/model/model.h"
#include "cohort/saving/json/layer_json.h"
#include "tests/golden/checks.h"

namespace cohort::golden {
namespace {

// What a layer is called with, put together from the tensors of a case.
struct Call {
  std::vector<Tensor> tensors;  // in the order of inputs/i
  Element inputs;
  CallContext context;
};

// Adds a tensor to the call's named arguments; those of a list stand together in a tuple.
void add_named(std::vector<Element::Named>& arguments, const std::string& name, const Tensor& tensor, bool listed) {
  if (!listed) return void(arguments.emplace_back(name, tensor));
  std::vector<Element> list;
  if (!arguments.empty() && arguments.back().first == name) {
    for (std::size_t i = 0; i < arguments.back().second.size(); ++i) list.push_back(arguments.back().second[i]);
    arguments.pop_back();
  }
  list.emplace_back(tensor);
  arguments.emplace_back(name, Element::tuple(std::move(list)));
}

Call given_call(Case& checked, const Layer& layer) {
  Call call;
  call.tensors = checked.given_all("inputs");
  call.context.training = checked.integer("training") != 0;
  const Json extra = checked.json("call");
  for (const auto& [name, value] : extra.items()) {
    call.context.arguments.set(name, attribute_from_json(value, "golden_check"));
  }
  std::vector<Element> positional, all;
  bool listed = false, named = false;
  std::vector<Element::Named> by_name;
  std::vector<Element> masks;
  for (std::size_t i = 0; i < call.tensors.size(); ++i) {
    const std::string argument = checked.text_of(numbered("inputs", i), "arg");
    if (argument == "mask") {
      masks.emplace_back(call.tensors[i]);
    } else if (argument == "inputs") {
      listed = listed || checked.integer_of(numbered("inputs", i), "listed") != 0;
      positional.emplace_back(call.tensors[i]);
    } else {
      named = true;
      add_named(by_name, argument, call.tensors[i], checked.integer_of(numbered("inputs", i), "listed") != 0);
    }
  }
  if (named) {
    const std::vector<std::string> names = layer.argument_names();
    const std::string first = names.empty() ? "inputs" : names[0];
    if (!positional.empty()) {
      by_name.emplace(by_name.begin(), first, listed ? Element::tuple(std::move(positional)) : positional[0]);
    }
    call.inputs = Element::dict(std::move(by_name));
    Tensors by_input(call.inputs.flatten().size());
    for (std::size_t i = 0; i < masks.size(); ++i) by_input[i] = masks[i].leaf();
    call.context.mask = call.inputs.with_leaves(by_input);
  } else {
    while (listed && !masks.empty() && masks.size() < positional.size()) masks.emplace_back(Tensor());
    if (!masks.empty()) call.context.mask = listed ? Element::tuple(std::move(masks)) : masks[0];
    call.inputs = listed ? Element::tuple(std::move(positional)) : positional.at(0);
  }
  return call;
}

void check_gradients(Case& checked, GradientTape& tape, const Call& call, const Variables& weights,
                     const std::vector<Tensor>& outputs) {
  Tensors targets, flows, sources;
  std::vector<std::string> paths;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!checked.has(numbered("upstream", i))) continue;
    targets.push_back(outputs[i]);
    flows.push_back(checked.given(numbered("upstream", i)));
  }
  for (std::size_t i = 0; i < call.tensors.size(); ++i) {
    if (!checked.has(numbered("grad_inputs", i))) continue;
    sources.push_back(call.tensors[i]);
    paths.push_back(numbered("grad_inputs", i));
  }
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (!checked.has(numbered("grad_weights", i))) continue;
    sources.push_back(weights[i].handle());
    paths.push_back(numbered("grad_weights", i));
  }
  if (sources.empty()) return;
  const Gradients gradients = tape.gradients(targets, sources, flows);
  for (std::size_t i = 0; i < paths.size(); ++i) {
    checked.expect(paths[i], gradients[i].defined() ? gradients[i].dense() : Tensor());
  }
}

// Equal, but for sizes that Keras could know and leaves open (EinsumDense's output_shape may). Those of texts come from
// their values in Keras's case, so that they may be open here. A case notes an open first axis whatever it is: where
// the whole batch becomes one row (a lookup to "multi_hot" of one axis) or there is none, its size may be known.
bool agrees(const Shape& seen, const Shape& expected, const Shape& real, bool of_texts) {
  if (seen.rank() != expected.rank()) return false;
  for (int i = 0; i < seen.rank(); ++i) {
    const bool open = i > 0 ? expected[i] == kUnknown || (of_texts && seen[i] == kUnknown)
                            : expected[i] == kUnknown && seen[i] == real[i];
    if (seen[i] != expected[i] && !open) return false;
  }
  return true;
}

// A call on symbols must give the shapes Keras gives, with the batch unknown.
void check_output_shapes(Case& checked, Layer& layer, const Call& call, const std::vector<Tensor>& outputs) {
  const Json expected = checked.json("output_shape");
  const auto symbol = [](const Tensor& tensor) {
    return Input(tensor.shape().slice(1), InputOptions{.dtype = tensor.dtype()});
  };
  const Symbols results = layer.apply_symbols(Symbols(call.inputs.map(symbol)), call.context.arguments);
  std::size_t i = 0;
  for (const SymbolicTensor& result : results.flatten()) {
    Shape shape;
    for (const Json& size : expected.at(i)) shape.push_back(size.is_null() ? kUnknown : size.get<std::int64_t>());
    const Shape& real = i < outputs.size() ? outputs[i].shape() : shape;
    checked.require(agrees(result.shape(), shape, real, call.tensors[0].dtype() == DType::String),
                    "output_shape: " + result.shape().to_string() + ", expected " + shape.to_string());
    ++i;
  }
  checked.require(i == expected.size(), "output_shape: " + std::to_string(i) + " outputs");
}

void check_weights(Case& checked, const Variables& weights) {
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const std::string path = numbered("weights", i);
    if (!checked.has(path)) continue;
    const std::string name = checked.text_of(path, "name");
    checked.require(weights[i].name() == name, path + ": is called " + weights[i].name() + ", expected " + name);
    checked.require(weights[i].trainable() == (checked.integer_of(path, "trainable") != 0), path + ": trainable");
  }
}

// A model is a layer too: what layers hand each other (masks) shows in cases of whole models.
std::shared_ptr<Layer> make_layer(Case& checked) {
  const std::string name = checked.class_name();
  if (name != "Sequential" && name != "Functional") return make_object<Layer>(checked);
  const Json config = checked.json("config");
  require_registered(config);
  return model_from_object(Json{{"class_name", name}, {"config", config}}).shared();
}

void check_call(Case& checked) {
  const std::shared_ptr<Layer> layer = make_layer(checked);
  Call call = given_call(checked, *layer);
  layer->ensure_built_element(call.inputs.map([](const Tensor& tensor) { return tensor.shape(); }));
  const Variables weights = layer->weights();
  check_weights(checked, weights);
  if (checked.count("weights") != static_cast<int>(weights.size())) {
    return checked.fail("weights: " + std::to_string(weights.size()) + ", expected " +
                        std::to_string(checked.count("weights")));
  }
  if (checked.has("adapt_data")) {
    auto* adaptable = dynamic_cast<layers::Adaptable*>(layer.get());
    if (!adaptable) return checked.fail("the layer cannot adapt");
    adaptable->adapt(checked.given("adapt_data"));
    if (!weights.empty()) checked.expect_all("weights", layer->get_weights());
  } else {
    layer->set_weights(checked.given_all("weights"));
  }
  if (checked.has("before")) layer->apply(Element(checked.given("before/0")), {});

  GradientTape tape;
  for (const Tensor& tensor : call.tensors) {
    if (is_floating(tensor.dtype())) tape.watch(tensor);
  }
  const std::vector<Tensor> outputs = layer->apply(call.inputs, call.context).flatten();
  checked.expect_all("outputs", outputs);
  if (checked.has("losses")) {
    std::vector<double> losses;
    for (const Tensor& loss : layer->losses()) losses.push_back(loss.item<double>());
    checked.expect("losses", losses, {static_cast<std::int64_t>(losses.size())});
  }
  check_gradients(checked, tape, call, weights, outputs);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (const std::string path = numbered("output_masks", i); checked.has(path)) {
      checked.expect(path, mask_of(outputs[i]));
    }
  }
  if (checked.has("weights_after")) checked.expect_all("weights_after", layer->get_weights());
  check_output_shapes(checked, *layer, call, outputs);
}

}  // namespace

void check_layer(Case& checked) {
  const std::string kind = checked.text("kind");
  if (kind == "activation") return check_activation(checked);
  if (kind == "statistics") return check_statistics(checked);
  check_call(checked);
}

}  // namespace cohort::golden
