#pragma once

#include <cstdint>
#include <string>

#include "cohort/model/layer/layer.h"

namespace cohort::layers {

struct EmbeddingOptions {
  Ref<Initializer> embeddings_initializer = "uniform";
  Ref<Regularizer> embeddings_regularizer = {};
  Ref<Constraint> embeddings_constraint = {};
  // Id 0 is padding: the output carries a mask, by which later layers, the loss and the metrics leave it out.
  bool mask_zero = false;
  // Values (input_dim, output_dim) to start with in place of the initializer; empty: the initializer.
  Tensor weights = {};
  Ref<Regularizer> activity_regularizer = {};
  DTypePolicy dtype = {};
  std::string name = {};
};
COHORT_FIELDS(EmbeddingOptions, embeddings_initializer, embeddings_regularizer, activity_regularizer,
              embeddings_constraint, mask_zero)

class EmbeddingLayer : public Layer {
 public:
  EmbeddingLayer() : EmbeddingLayer(1, 1) {}
  explicit EmbeddingLayer(std::int64_t input_dim, std::int64_t output_dim, EmbeddingOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  void build(const Shape& input) override;
  Tensor call(const Tensor& input, const CallContext& context) override;
  Element compute_mask(const Element& inputs, const Element& mask) override;

 protected:
  bool casts_inputs() const override { return false; }

  std::int64_t input_dim_, output_dim_;
  EmbeddingOptions options_;
  Variable embeddings_;
};

// Turns each integer id into a row of a trainable table.
// Input (batch, ...) of ids in [0, input_dim), output (batch, ..., output_dim).
//   input_dim: number of rows, the largest id + 1.
//   output_dim: size of each vector.
struct Embedding : LayerHandle<EmbeddingLayer> {
  explicit Embedding(std::int64_t input_dim, std::int64_t output_dim, EmbeddingOptions options = {});
};

}  // namespace cohort::layers
