#include "cohort/layers/attention/attention_arguments.h"

#include "cohort/model/layer/layer_call_scope.h"

namespace cohort::layers {
namespace {

template <class T>
Tree<T> named_inputs(const T& query, const T& value, const AttentionArguments<T>& arguments) {
  std::vector<typename Tree<T>::Named> named{{"query", query}, {"value", value}};
  const auto add = [&](const char* name, const T& tensor) {
    if (tensor.defined()) named.emplace_back(name, tensor);
  };
  add("key", arguments.key);
  add("query_mask", arguments.query_mask);
  add("value_mask", arguments.value_mask);
  add("key_mask", arguments.key_mask);
  add("attention_mask", arguments.attention_mask);
  return Tree<T>::dict(std::move(named));
}

template <class T>
Attributes plain_arguments(const AttentionArguments<T>& arguments) {
  Attributes plain;
  if (arguments.return_attention_scores) plain.set("return_attention_scores", AttributeValue(true));
  if (arguments.use_causal_mask) plain.set("use_causal_mask", AttributeValue(true));
  return plain;
}

template <class T>
std::pair<T, T> output_and_scores(const Tree<T>& outputs) {
  const std::vector<T> flat = outputs.flatten();
  return {flat.at(0), flat.size() > 1 ? flat[1] : T()};
}

}  // namespace

std::pair<Tensor, Tensor> call_attention(Layer& layer, const Tensor& query, const Tensor& value,
                                         const AttentionArguments<Tensor>& arguments) {
  const CallContext context{.training = arguments.training.value_or(LayerCallScope::training()),
                            .arguments = plain_arguments(arguments)};
  return output_and_scores(layer.apply(named_inputs(query, value, arguments), context));
}

std::pair<SymbolicTensor, SymbolicTensor> call_attention(Layer& layer, const SymbolicTensor& query,
                                                         const SymbolicTensor& value,
                                                         const AttentionArguments<SymbolicTensor>& arguments) {
  return output_and_scores<SymbolicTensor>(apply_attention(layer, query, value, arguments).symbols());
}

SymbolicOutputs apply_attention(Layer& layer, const SymbolicTensor& query, const SymbolicTensor& value,
                                const AttentionArguments<SymbolicTensor>& arguments) {
  Attributes plain = plain_arguments(arguments);
  if (arguments.training) plain.set("training", AttributeValue(*arguments.training));
  return SymbolicOutputs(layer.apply_symbols(Symbols(named_inputs(query, value, arguments)), plain));
}

}  // namespace cohort::layers
