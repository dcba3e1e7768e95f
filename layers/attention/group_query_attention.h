#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cohort/layers/attention/attention_arguments.h"
#include "cohort/layers/attention/projected_attention.h"

namespace cohort::layers {

struct GroupQueryAttentionOptions {
  // Fraction of the attention weights dropped in training, in [0, 1].
  double dropout = 0.0;
  bool use_bias = true;
  // A step sees only keys less than this many positions away on either side. None: all keys.
  std::optional<std::int64_t> sliding_window = std::nullopt;
  // True rules out dropout and returned scores. It changes nothing else: the fused kernel runs wherever it can.
  std::optional<bool> flash_attention = std::nullopt;
  Ref<Initializer> kernel_initializer = "glorot_uniform";
  Ref<Initializer> bias_initializer = "zeros";
  Ref<Regularizer> kernel_regularizer = {};
  Ref<Regularizer> bias_regularizer = {};
  Ref<Regularizer> activity_regularizer = {};
  Ref<Constraint> kernel_constraint = {};
  Ref<Constraint> bias_constraint = {};
  // Whether a sigmoid of a projection of the query multiplies what was attended to, before the output projection.
  bool use_gate = false;
  std::optional<std::int64_t> seed = std::nullopt;
  DTypePolicy dtype = {};
  std::string name = {};
};

class GroupQueryAttentionLayer : public ProjectedAttentionLayer {
 public:
  GroupQueryAttentionLayer() : GroupQueryAttentionLayer(1, 1, 1) {}
  explicit GroupQueryAttentionLayer(std::int64_t head_dim, std::int64_t num_query_heads,
                                    std::int64_t num_key_value_heads, GroupQueryAttentionOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;

 protected:
  void build_projections(const Shape& query, const Shape& value, const Shape& key) override;
  Tensor scores_of(const Projected& projected) const override;
  Tensor combine(const Tensor& weights, const Projected& projected) const override;
  std::int64_t query_size() const override { return head_dim_; }

 private:
  Tensor split_heads(const Tensor& query) const;
  std::int64_t head_dim_, num_query_heads_, num_key_value_heads_;
};

// Multi-head attention in which groups of query heads share one head of key and value: layer(query, value).
// Input query (batch, steps, features), value and key (batch, keys, ...), output (batch, steps, features).
//   head_dim: size of each head.
//   num_query_heads: number of query heads, a multiple of num_key_value_heads.
//   num_key_value_heads: number of heads of key and value.
struct GroupQueryAttention : AttentionHandle<GroupQueryAttentionLayer> {
  explicit GroupQueryAttention(std::int64_t head_dim, std::int64_t num_query_heads, std::int64_t num_key_value_heads,
                               GroupQueryAttentionOptions options = {});
};

}  // namespace cohort::layers
