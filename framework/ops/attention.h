#pragma once

#include <cstdint>

#include "cohort/core/tensor.h"

namespace cohort::ops {

// What dot_product_attention takes besides its tensors.
struct AttentionOptions {
  Tensor mask = {};                 // booleans that broadcast to (batch, heads, steps, keys): false leaves a key out
  double scale = 0.0;               // what scores are multiplied with; 0: 1 / sqrt(size of a head)
  bool is_causal = false;           // a step sees no key behind its own position
  std::int64_t sliding_window = 0;  // a step sees keys less than this far from it; 0: all
  double dropout = 0.0;             // share of the weights that are dropped, drawn with `seed`
  std::int64_t seed = 0;            // of the dropout
  bool zero_without_keys = false;   // a step whose keys are all left out gives zeros; else the mean of all values
};

// softmax(query . key * scale) . value for each head, without the matrix of weights in memory. query (batch, steps,
// heads, size), key (batch, keys, key heads, size), value (batch, keys, key heads, value size) to (batch, steps, heads,
// value size); heads are a multiple of the key heads, and as many of them follow each other share one.
Tensor dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                             const AttentionOptions& options = {});

}  // namespace cohort::ops
