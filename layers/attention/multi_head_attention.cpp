#include "cohort/layers/attention/multi_head_attention.h"

#include <algorithm>

#include "cohort/ops/einsum.h"

namespace cohort::layers {
namespace {

std::string letters(int first, int count) {
  std::string text;
  for (int i = first; i < first + count; ++i) text += static_cast<char>('a' + i);
  return text;
}

// Sums the last `bound` axes of a tensor of `free` + `bound` with the kernel's first and puts `made` in their place.
struct Projection {
  std::string equation, made;
  Projection(int free, int bound, int made_axes) : made(letters(free + bound, made_axes)) {
    const std::string kept = letters(0, free), summed = letters(free, bound);
    equation = kept + summed + "," + summed + made + "->" + kept + made;
  }
};

}  // namespace

MultiHeadAttentionLayer::MultiHeadAttentionLayer(std::int64_t num_heads, std::int64_t key_dim,
                                                 MultiHeadAttentionOptions options)
    : ProjectedAttentionLayer(options),
      num_heads_(num_heads),
      key_dim_(key_dim),
      value_dim_(options.value_dim),
      output_shape_(options.output_shape),
      attention_axes_(std::move(options.attention_axes)) {
  MultiHeadAttentionLayer::fields_changed();
}

void MultiHeadAttentionLayer::visit_fields(FieldVisitor& visitor) {
  ProjectedAttentionLayer::visit_fields(visitor);
  visitor.field("num_heads", num_heads_);
  visitor.field("key_dim", key_dim_);
  visitor.field("value_dim", value_dim_);
  visitor.field("output_shape", output_shape_);
  visitor.field("attention_axes", attention_axes_);
}

void MultiHeadAttentionLayer::fields_changed() {
  ProjectedAttentionLayer::fields_changed();
  const auto check = [this](const char* name, std::int64_t value) {
    if (value <= 0) throw invalid_argument(class_name(), std::string(name) + " must be positive", {{name, value}});
  };
  check("num_heads", num_heads_);
  check("key_dim", key_dim_);
  if (!value_dim_) value_dim_ = key_dim_;
  check("value_dim", *value_dim_);
  if (output_shape_ && output_shape_->empty()) output_shape_.reset();
  if (output_shape_) {
    for (std::int64_t size : *output_shape_) check("output_shape", size);
  }
}

void MultiHeadAttentionLayer::build_projections(const Shape& query, const Shape& value, const Shape& key) {
  make_equations(value.rank() + 1);
  const int leading = query.rank() - 1;
  const Projection heads(leading, 1, 2);
  const auto project = [&](const char* name, const char* attribute, const Shape& input, std::int64_t size,
                           const char* activation = "linear") {
    return projection(name, attribute, heads.equation, input, {num_heads_, size}, heads.made, activation);
  };
  query_dense_ = project("query", "query_dense", query, key_dim_);
  key_dense_ = project("key", "key_dense", key, key_dim_);
  if (fields_.use_gate) gate_dense_ = project("gate", "_gate_dense", query, *value_dim_, "sigmoid");
  value_dense_ = project("value", "value_dense", value, *value_dim_);

  const std::vector<std::int64_t> output =
      output_shape_ ? output_shape_->to_vector() : std::vector<std::int64_t>{query.back()};
  const Projection back(leading, 2, static_cast<int>(output.size()));
  Shape attended = query.slice(0, leading);
  attended.push_back(num_heads_);
  attended.push_back(*value_dim_);
  output_dense_ = projection("attention_output", "output_dense", back.equation, attended, output, back.made);
}

// For projected tensors of `rank` axes, the last two of which are heads and features: the axes that are attended to
// come last in the scores, the query's before the keys'.
void MultiHeadAttentionLayer::make_equations(int rank) {
  std::vector<std::int64_t> axes;
  if (attention_axes_) {
    for (std::int64_t axis : *attention_axes_) {
      const std::int64_t from_front = axis >= 0 ? axis : rank - 1 + axis;
      if (from_front < 1 || from_front > rank - 3) {
        throw invalid_argument(title(), "attention_axes must lie between the batch and the features",
                               {{"attention_axes", axis}, {"axes of the inputs", rank - 1}});
      }
      axes.push_back(from_front);
    }
  } else {
    for (int axis = 1; axis < rank - 2; ++axis) axes.push_back(axis);
  }
  attention_axes_ = axes;
  const std::string query = letters(0, rank);
  std::string key = query, scores, query_axes, key_axes;
  int next = rank;
  for (int i = 0; i < rank - 1; ++i) {
    if (std::find(axes.begin(), axes.end(), i) == axes.end()) {
      scores += query[static_cast<std::size_t>(i)];
    } else {
      key[static_cast<std::size_t>(i)] = static_cast<char>('a' + next++);
    }
  }
  for (std::int64_t axis : axes) {
    query_axes += query[static_cast<std::size_t>(axis)];
    key_axes += key[static_cast<std::size_t>(axis)];
  }
  scores += query_axes + key_axes;
  scores_equation_ = query + "," + key + "->" + scores;
  combine_equation_ = scores + "," + key + "->" + query;
}

bool MultiHeadAttentionLayer::is_plain(const Projected& projected) const {
  return projected.query.rank() == 4 && *attention_axes_ == std::vector<std::int64_t>{1};
}

Tensor MultiHeadAttentionLayer::scores_of(const Projected& projected) const {
  return ops::einsum(scores_equation_, {projected.query, projected.key});
}

Tensor MultiHeadAttentionLayer::combine(const Tensor& weights, const Projected& projected) const {
  return ops::einsum(combine_equation_, {weights, projected.value});
}

COHORT_REGISTER(Layer, MultiHeadAttentionLayer, "MultiHeadAttention");

MultiHeadAttention::MultiHeadAttention(std::int64_t num_heads, std::int64_t key_dim, MultiHeadAttentionOptions options)
    : AttentionHandle(std::make_shared<MultiHeadAttentionLayer>(num_heads, key_dim, std::move(options))) {}

}  // namespace cohort::layers
