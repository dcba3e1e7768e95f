#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cohort/layers/attention/attention.h"

namespace cohort::layers {

struct AdditiveAttentionOptions {
  // Whether a trainable weight for each feature scales tanh(query + key).
  bool use_scale = true;
  // Fraction of the attention weights dropped in training, in [0, 1].
  double dropout = 0.0;
  std::optional<std::int64_t> seed = std::nullopt;
  DTypePolicy dtype = {};
  std::string name = {};
};

class AdditiveAttentionLayer : public AttentionLayer {
 public:
  explicit AdditiveAttentionLayer(AdditiveAttentionOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;

 protected:
  void make_weights(const Shape& query) override;
  Tensor scores(const Tensor& query, const Tensor& key) const override;
};

// Bahdanau's attention: the mean of the values, weighted by the softmax of sum(scale * tanh(query + key)) over the
// features.
// Input [query, value] or [query, value, key]: query (batch, steps, size), value (batch, keys, value_size), key (batch,
// keys, size), the value where it is left out; output (batch, steps, value_size).
struct AdditiveAttention : LayerHandle<AdditiveAttentionLayer> {
  explicit AdditiveAttention(AdditiveAttentionOptions options = {});
};

}  // namespace cohort::layers
