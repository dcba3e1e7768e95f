#include "cohort/layers/attention/group_query_attention.h"

#include "cohort/layers/layer_checks.h"
#include "cohort/ops/array.h"
#include "cohort/ops/einsum.h"

namespace cohort::layers {

GroupQueryAttentionLayer::GroupQueryAttentionLayer(std::int64_t head_dim, std::int64_t num_query_heads,
                                                   std::int64_t num_key_value_heads, GroupQueryAttentionOptions options)
    : ProjectedAttentionLayer(options),
      head_dim_(head_dim),
      num_query_heads_(num_query_heads),
      num_key_value_heads_(num_key_value_heads) {
  GroupQueryAttentionLayer::fields_changed();
}

void GroupQueryAttentionLayer::visit_fields(FieldVisitor& visitor) {
  ProjectedAttentionLayer::visit_fields(visitor);
  visitor.field("head_dim", head_dim_);
  visitor.field("num_query_heads", num_query_heads_);
  visitor.field("num_key_value_heads", num_key_value_heads_);
}

void GroupQueryAttentionLayer::fields_changed() {
  ProjectedAttentionLayer::fields_changed();
  const auto check = [this](const char* name, std::int64_t value) {
    if (value <= 0) throw invalid_argument(class_name(), std::string(name) + " must be positive", {{name, value}});
  };
  check("head_dim", head_dim_);
  check("num_query_heads", num_query_heads_);
  check("num_key_value_heads", num_key_value_heads_);
  if (num_query_heads_ % num_key_value_heads_ != 0) {
    throw invalid_argument(class_name(), "num_query_heads must be a multiple of num_key_value_heads",
                           {{"num_query_heads", num_query_heads_}, {"num_key_value_heads", num_key_value_heads_}});
  }
  activity_regularizer_ = fields_.activity_regularizer;
}

void GroupQueryAttentionLayer::build_projections(const Shape& query, const Shape& value, const Shape& key) {
  check_rank(*this, query, 3, "(batch, steps, features)");
  const auto project = [&](const char* name, const char* attribute, std::int64_t heads, const Shape& input,
                           const char* activation = "linear") {
    return projection(name, attribute, "abc,cde->abde", input, {heads, head_dim_}, "de", activation);
  };
  query_dense_ = project("query", "_query_dense", num_query_heads_, query);
  key_dense_ = project("key", "_key_dense", num_key_value_heads_, key);
  if (fields_.use_gate) gate_dense_ = project("gate", "_gate_dense", num_query_heads_, query, "sigmoid");
  value_dense_ = project("value", "_value_dense", num_key_value_heads_, value);
  output_dense_ = projection("attention_output", "_output_dense", "abcd,cde->abe",
                             {query[0], query[1], num_query_heads_, head_dim_}, {query.back()}, "e");
}

// The query's heads as (heads of the key, heads that share one).
Tensor GroupQueryAttentionLayer::split_heads(const Tensor& query) const {
  return ops::reshape(query, {-2, -2, num_key_value_heads_, num_query_heads_ / num_key_value_heads_, head_dim_});
}

Tensor GroupQueryAttentionLayer::scores_of(const Projected& projected) const {
  return ops::merge_axes(ops::einsum("btkgh,bskh->bkgts", {split_heads(projected.query), projected.key}), 1, 2);
}

Tensor GroupQueryAttentionLayer::combine(const Tensor& weights, const Projected& projected) const {
  const Tensor split = ops::unmerge_axis(weights, split_heads(projected.query), 1, 2, 2);
  return ops::merge_axes(ops::einsum("bkgts,bskh->btkgh", {split, projected.value}), 2, 2);
}

COHORT_REGISTER(Layer, GroupQueryAttentionLayer, "GroupQueryAttention", "GroupedQueryAttention");

GroupQueryAttention::GroupQueryAttention(std::int64_t head_dim, std::int64_t num_query_heads,
                                         std::int64_t num_key_value_heads, GroupQueryAttentionOptions options)
    : AttentionHandle(std::make_shared<GroupQueryAttentionLayer>(head_dim, num_query_heads, num_key_value_heads,
                                                                 std::move(options))) {}

}  // namespace cohort::layers
