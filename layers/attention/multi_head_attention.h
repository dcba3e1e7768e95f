#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cohort/layers/attention/attention_arguments.h"
#include "cohort/layers/attention/projected_attention.h"

namespace cohort::layers {

struct MultiHeadAttentionOptions {
  // Size of each head of the value. None: key_dim.
  std::optional<std::int64_t> value_dim = std::nullopt;
  // Fraction of the attention weights dropped in training, in [0, 1].
  double dropout = 0.0;
  bool use_bias = true;
  // Sizes of the output's axes after the steps. None: the size of the query's last axis.
  std::optional<Shape> output_shape = std::nullopt;
  // Axes of the inputs that are attended over. None: all but the batch and the features.
  std::optional<std::vector<std::int64_t>> attention_axes = std::nullopt;
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

class MultiHeadAttentionLayer : public ProjectedAttentionLayer {
 public:
  MultiHeadAttentionLayer() : MultiHeadAttentionLayer(1, 1) {}
  explicit MultiHeadAttentionLayer(std::int64_t num_heads, std::int64_t key_dim,
                                   MultiHeadAttentionOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;

 protected:
  void build_projections(const Shape& query, const Shape& value, const Shape& key) override;
  Tensor scores_of(const Projected& projected) const override;
  Tensor combine(const Tensor& weights, const Projected& projected) const override;
  int key_axes() const override { return static_cast<int>(attention_axes_->size()); }
  std::int64_t query_size() const override { return key_dim_; }
  bool takes_query_mask() const override { return false; }
  bool is_plain(const Projected& projected) const override;

 private:
  void make_equations(int rank);

  std::int64_t num_heads_, key_dim_;
  std::optional<std::int64_t> value_dim_;
  std::optional<Shape> output_shape_;
  std::optional<std::vector<std::int64_t>> attention_axes_;
  std::string scores_equation_, combine_equation_;
};

// Multi-head attention of projected query, key and value, projected back: layer(query, value), layer(x, x) for
// self-attention.
// Input query (batch, steps, features), value and key (batch, keys, ...), output (batch, steps, features), or (batch,
// steps, output_shape). Inputs may have several axes between batch and features, see attention_axes.
//   num_heads: number of heads.
//   key_dim: size of each head of query and key.
struct MultiHeadAttention : AttentionHandle<MultiHeadAttentionLayer> {
  explicit MultiHeadAttention(std::int64_t num_heads, std::int64_t key_dim, MultiHeadAttentionOptions options = {});
};

}  // namespace cohort::layers
