#include "cohort/layers/core/embedding.h"

#include <optional>

#include "cohort/layers/layer_checks.h"
#include "cohort/ops/cast.h"
#include "cohort/ops/indexing.h"
#include "cohort/ops/math.h"

namespace cohort::layers {

EmbeddingLayer::EmbeddingLayer(std::int64_t input_dim, std::int64_t output_dim, EmbeddingOptions options)
    : input_dim_(input_dim), output_dim_(output_dim), options_(std::move(options)) {
  take_options(options_);
  EmbeddingLayer::fields_changed();
}

void EmbeddingLayer::visit_fields(FieldVisitor& visitor) {
  Layer::visit_fields(visitor);
  visitor.field("input_dim", input_dim_);
  visitor.field("output_dim", output_dim_);
  visit_options(options_, visitor);
  std::optional<std::string> none;  // quantisation is not supported
  visitor.field("quantization_config", none);
}

void EmbeddingLayer::fields_changed() {
  if (input_dim_ <= 0) throw invalid_argument(class_name(), "input_dim must be positive", {{"input_dim", input_dim_}});
  if (output_dim_ <= 0) {
    throw invalid_argument(class_name(), "output_dim must be positive", {{"output_dim", output_dim_}});
  }
  const Shape table{input_dim_, output_dim_};
  if (options_.weights.defined() && options_.weights.shape() != table) {
    throw invalid_argument(class_name(), "weights must have the shape (input_dim, output_dim) = " + table.to_string(),
                           {{"weights.shape", options_.weights.shape()}});
  }
  supports_masking_ = options_.mask_zero;
  activity_regularizer_ = options_.activity_regularizer;
}

void EmbeddingLayer::build(const Shape&) {
  embeddings_ = add_weight("embeddings", {input_dim_, output_dim_},
                           {.initializer = options_.embeddings_initializer,
                            .dtype = dtype(),
                            .regularizer = options_.embeddings_regularizer,
                            .constraint = options_.embeddings_constraint,
                            .autocast = false});
  if (options_.weights.defined()) embeddings_.assign(ops::cast(options_.weights, dtype()));
}

Tensor EmbeddingLayer::call(const Tensor& input, const CallContext&) {
  const bool is_index = input.dtype() == DType::Int32 || input.dtype() == DType::Int64;
  // What was picked is cast, not the whole table.
  return ops::cast(ops::gather(embeddings_, is_index ? input : ops::cast(input, DType::Int32)), compute_dtype());
}

Element EmbeddingLayer::compute_mask(const Element& inputs, const Element&) {
  return options_.mask_zero ? Element(ops::not_equal(inputs.leaf(), 0.0)) : Element();
}

COHORT_REGISTER(Layer, EmbeddingLayer, "Embedding");

Embedding::Embedding(std::int64_t input_dim, std::int64_t output_dim, EmbeddingOptions options)
    : LayerHandle<EmbeddingLayer>(std::make_shared<EmbeddingLayer>(input_dim, output_dim, std::move(options))) {}

}  // namespace cohort::layers
