#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cohort/layers/attention/attention.h"

namespace cohort::layers {

struct AdditiveAttentionOptions {
  bool use_scale = true;  // a weight for each feature
  double dropout = 0.0;
  std::optional<std::int64_t> seed = std::nullopt;
  DTypePolicy dtype = {};
  std::string name = {};
};

// Attention whose scores are sum(scale * tanh(query + key)): [query, value] or [query, value, key] of (batch, steps,
// size) and (batch, keys, size) to (batch, steps, value size).
class AdditiveAttentionLayer : public AttentionLayer {
 public:
  explicit AdditiveAttentionLayer(AdditiveAttentionOptions options = {});
  std::string class_name() const override { return "AdditiveAttention"; }
  void visit_fields(FieldVisitor& visitor) override;

 protected:
  void make_weights(const Shape& query) override;
  Tensor scores(const Tensor& query, const Tensor& key) const override;
};

struct AdditiveAttention : LayerHandle<AdditiveAttentionLayer> {
  explicit AdditiveAttention(AdditiveAttentionOptions options = {})
      : LayerHandle<AdditiveAttentionLayer>(std::make_shared<AdditiveAttentionLayer>(std::move(options))) {}
};

}  // namespace cohort::layers
