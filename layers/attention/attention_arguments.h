#pragma once

#include <optional>
#include <utility>

#include "cohort/model/layer/layer.h"

namespace cohort::layers {

// What an attention with projections may be told beside query (batch, steps, features) and value (batch, keys,
// features). T: Tensor or SymbolicTensor.
template <class T>
struct AttentionArguments {
  // Keys (batch, keys, ...). Undefined: the value.
  T key = {};
  // Steps that count, (batch, steps) of booleans. MultiHeadAttention ignores it and takes the mask the query carries.
  T query_mask = {};
  // Keys that count, (batch, keys) of booleans. Undefined: the mask the value carries.
  T value_mask = {};
  // Keys that count, (batch, keys) of booleans. Undefined: the mask the key carries.
  T key_mask = {};
  // Which keys a step may see, (batch, steps, keys) of booleans. Undefined: all.
  T attention_mask = {};
  // Set by with_scores(); the scores are left undefined without it.
  bool return_attention_scores = false;
  // Whether dropout is active. None: as in the layer call around this one, false outside of any.
  std::optional<bool> training = std::nullopt;
  // Whether a step sees only the keys up to its own position.
  bool use_causal_mask = false;
};

// Calls the layer; its output, and the scores (batch, heads, steps, keys) when they are asked for.
std::pair<Tensor, Tensor> call_attention(Layer& layer, const Tensor& query, const Tensor& value,
                                         const AttentionArguments<Tensor>& arguments);
std::pair<SymbolicTensor, SymbolicTensor> call_attention(Layer& layer, const SymbolicTensor& query,
                                                         const SymbolicTensor& value,
                                                         const AttentionArguments<SymbolicTensor>& arguments);
// The same with the scores only where they are asked for.
SymbolicOutputs apply_attention(Layer& layer, const SymbolicTensor& query, const SymbolicTensor& value,
                                const AttentionArguments<SymbolicTensor>& arguments);

// The handle of such a layer: attention(query, value, {.use_causal_mask = true}).
template <class Body>
struct AttentionHandle : LayerHandle<Body> {
  using LayerHandle<Body>::LayerHandle;
  using LayerHandle<Body>::operator();
  // The output of attention from query (batch, steps, ...) to value (batch, keys, ...).
  Tensor operator()(const Tensor& query, const Tensor& value, const AttentionArguments<Tensor>& arguments = {}) const {
    return call_attention(*this->get(), query, value, arguments).first;
  }
  SymbolicOutputs operator()(const SymbolicTensor& query, const SymbolicTensor& value,
                             const AttentionArguments<SymbolicTensor>& arguments = {}) const {
    return apply_attention(*this->get(), query, value, arguments);
  }
  // The output and the scores behind it, (batch, heads, steps, keys).
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
