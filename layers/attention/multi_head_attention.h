#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cohort/layers/attention/attention_arguments.h"
#include "cohort/layers/attention/projected_attention.h"

namespace cohort::layers {

struct MultiHeadAttentionOptions {
  std::optional<std::int64_t> value_dim = std::nullopt;  // size of a head of the value; key_dim when left out
  double dropout = 0.0;
  bool use_bias = true;
  std::optional<Shape> output_shape = std::nullopt;                        // in place of the query's last axis
  std::optional<std::vector<std::int64_t>> attention_axes = std::nullopt;  // all but batch, heads, features
  std::optional<std::int64_t> sliding_window = std::nullopt;  // a step sees keys less than this far from it
  std::optional<bool> flash_attention = std::nullopt;         // the fused kernel is used whenever it can be
  Ref<Initializer> kernel_initializer = "glorot_uniform";
  Ref<Initializer> bias_initializer = "zeros";
  Ref<Regularizer> kernel_regularizer = {};
  Ref<Regularizer> bias_regularizer = {};
  Ref<Regularizer> activity_regularizer = {};
  Ref<Constraint> kernel_constraint = {};
  Ref<Constraint> bias_constraint = {};
  bool use_gate = false;  // multiplies what was attended to with a sigmoid of the query
  std::optional<std::int64_t> seed = std::nullopt;
  DTypePolicy dtype = {};
  std::string name = {};
};

// Attention of num_heads heads of size key_dim: query (batch, steps, features), value and key (batch, keys, features)
// to (batch, steps, query features).
class MultiHeadAttentionLayer : public ProjectedAttentionLayer {
 public:
  MultiHeadAttentionLayer() : MultiHeadAttentionLayer(1, 1) {}
  explicit MultiHeadAttentionLayer(std::int64_t num_heads, std::int64_t key_dim,
                                   MultiHeadAttentionOptions options = {});
  std::string class_name() const override { return "MultiHeadAttention"; }
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

struct MultiHeadAttention : AttentionHandle<MultiHeadAttentionLayer> {
  explicit MultiHeadAttention(std::int64_t num_heads, std::int64_t key_dim, MultiHeadAttentionOptions options = {})
      : AttentionHandle(std::make_shared<MultiHeadAttentionLayer>(num_heads, key_dim, std::move(options))) {}
};

}  // namespace cohort::layers
