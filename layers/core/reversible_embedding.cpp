#include "cohort/layers/core/reversible_embedding.h"

#include "cohort/core/masks.h"
#include "cohort/core/text.h"
#include "cohort/ops/cast.h"
#include "cohort/ops/math.h"
#include "cohort/ops/matmul.h"

namespace cohort::layers {

ReversibleEmbeddingLayer::ReversibleEmbeddingLayer(std::int64_t input_dim, std::int64_t output_dim,
                                                   ReversibleEmbeddingOptions options)
    : EmbeddingLayer(input_dim, output_dim,
                     {.embeddings_initializer = options.embeddings_initializer,
                      .embeddings_regularizer = options.embeddings_regularizer,
                      .embeddings_constraint = options.embeddings_constraint,
                      .mask_zero = options.mask_zero,
                      .weights = options.weights,
                      .activity_regularizer = options.activity_regularizer,
                      .dtype = options.dtype,
                      .name = options.name}),
      tie_weights_(options.tie_weights),
      reverse_dtype_(options.reverse_dtype),
      logit_soft_cap_(options.logit_soft_cap) {
  ReversibleEmbeddingLayer::fields_changed();
}

void ReversibleEmbeddingLayer::visit_fields(FieldVisitor& visitor) {
  EmbeddingLayer::visit_fields(visitor);
  visitor.field("tie_weights", tie_weights_);
  visitor.field("reverse_dtype", reverse_dtype_);
  visitor.field("logit_soft_cap", logit_soft_cap_);
}

void ReversibleEmbeddingLayer::fields_changed() {
  EmbeddingLayer::fields_changed();
  if (reverse_dtype_ && !is_floating(dtype_from_string(*reverse_dtype_))) {
    throw invalid_argument(class_name(), "reverse_dtype must be a floating type",
                           {{"reverse_dtype", in_quotes(*reverse_dtype_)}});
  }
  if (logit_soft_cap_ && !(*logit_soft_cap_ > 0.0)) {
    throw invalid_argument(class_name(), "logit_soft_cap must be positive", {{"logit_soft_cap", *logit_soft_cap_}});
  }
}

void ReversibleEmbeddingLayer::build(const Shape& input) {
  EmbeddingLayer::build(input);
  if (tie_weights_) return;
  reverse_embeddings_ = add_weight("reverse_embeddings", {output_dim_, input_dim_},
                                   {.initializer = options_.embeddings_initializer, .autocast = false});
}

Tensor ReversibleEmbeddingLayer::call(const Tensor& input, const CallContext& context) {
  if (!context.arguments.get<bool>("reverse", false)) {
    const Tensor output = EmbeddingLayer::call(input, context);
    // Only this way round is there a mask, so compute_mask leaves it alone.
    if (options_.mask_zero) set_mask(output, EmbeddingLayer::compute_mask(input, {}).leaf());
    return output;
  }
  if (input.rank() < 1 || (input.shape().back() != output_dim_ && input.shape().back() != kUnknown)) {
    throw invalid_argument(title(), "the last axis must have size output_dim=" + std::to_string(output_dim_),
                           {{"input.shape", input.shape()}});
  }
  Tensor vectors = input, kernel = tie_weights_ ? embeddings_ : reverse_embeddings_;
  if (reverse_dtype_) {
    const DType dtype = dtype_from_string(*reverse_dtype_);
    vectors = ops::cast(vectors, dtype);
    kernel = ops::cast(kernel, dtype);
  }
  const Tensor logits = ops::matmul(vectors, kernel, false, tie_weights_);
  return logit_soft_cap_ ? ops::tanh(logits / *logit_soft_cap_) * *logit_soft_cap_ : logits;
}

Element ReversibleEmbeddingLayer::compute_mask(const Element&, const Element&) { return {}; }

COHORT_REGISTER(Layer, ReversibleEmbeddingLayer, "ReversibleEmbedding");

ReversibleEmbedding::ReversibleEmbedding(std::int64_t input_dim, std::int64_t output_dim,
                                         ReversibleEmbeddingOptions options)
    : LayerHandle<ReversibleEmbeddingLayer>(
          std::make_shared<ReversibleEmbeddingLayer>(input_dim, output_dim, std::move(options))) {}

}  // namespace cohort::layers
