#pragma once

#include <optional>
#include <utility>

#include "cohort/model/layer/layer.h"

namespace cohort::layers {

// What an attention with projections may be told beside query (batch, steps, features) and value (batch, keys,
// features). T: Tensor or SymbolicTensor.
template <class T>
struct AttentionArguments {
  T key = {};         // (batch, keys, features); the value when left out
  T query_mask = {};  // (batch, steps), the other two (batch, keys): false leaves a step or key out
  T value_mask = {};
  T key_mask = {};
  T attention_mask = {};  // (batch, steps, keys): which keys a step may see
  bool return_attention_scores = false;
  std::optional<bool> training = std::nullopt;
  bool use_causal_mask = false;  // a step sees no key behind its own position
};

// Calls the layer; its output, and the scores (batch, heads, steps, keys) when they are asked for.
std::pair<Tensor, Tensor> call_attention(Layer& layer, const Tensor& query, const Tensor& value,
                                         const AttentionArguments<Tensor>& arguments);
std::pair<SymbolicTensor, SymbolicTensor> call_attention(Layer& layer, const SymbolicTensor& query,
                                                         const SymbolicTensor& value,
                                                         const AttentionArguments<SymbolicTensor>& arguments);

// The handle of such a layer: attention(query, value, {.use_causal_mask = true}).
template <class Body>
struct AttentionHandle : LayerHandle<Body> {
  using LayerHandle<Body>::LayerHandle;
  using LayerHandle<Body>::operator();
  Tensor operator()(const Tensor& query, const Tensor& value, const AttentionArguments<Tensor>& arguments = {}) const {
    return call_attention(*this->get(), query, value, arguments).first;
  }
  SymbolicTensor operator()(const SymbolicTensor& query, const SymbolicTensor& value,
                            const AttentionArguments<SymbolicTensor>& arguments = {}) const {
    return call_attention(*this->get(), query, value, arguments).first;
  }
  // The output and the scores behind it.
  std::pair<Tensor, Tensor> with_scores(const Tensor& query, const Tensor& value,
                                        AttentionArguments<Tensor> arguments = {}) const {
    arguments.return_attention_scores = true;
    return call_attention(*this->get(), query, value, arguments);
  }
  std::pair<SymbolicTensor, SymbolicTensor> with_scores(const SymbolicTensor& query, const SymbolicTensor& value,
                                                        AttentionArguments<SymbolicTensor> arguments = {}) const {
    arguments.return_attention_scores = true;
    return call_attention(*this->get(), query, value, arguments);
  }
};

}  // namespace cohort::layers
