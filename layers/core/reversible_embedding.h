#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cohort/layers/core/embedding.h"

namespace cohort::layers {

struct ReversibleEmbeddingOptions {
  bool tie_weights = true;  // the way back uses the same table; false: a matrix of its own
  Ref<Initializer> embeddings_initializer = "uniform";
  Ref<Regularizer> embeddings_regularizer = {};
  Ref<Constraint> embeddings_constraint = {};
  bool mask_zero = false;
  std::optional<std::string> reverse_dtype = std::nullopt;  // what the way back computes in
  std::optional<double> logit_soft_cap = std::nullopt;      // keeps logits within (-cap, cap)
  Tensor weights = {};
  Ref<Regularizer> activity_regularizer = {};
  DTypePolicy dtype = {};
  std::string name = {};
};

// An Embedding that can also be called in reverse, {{"reverse", true}}: (batch, ..., output_dim) to logits (batch, ...,
// input_dim).
class ReversibleEmbeddingLayer : public EmbeddingLayer {
 public:
  ReversibleEmbeddingLayer() : ReversibleEmbeddingLayer(1, 1) {}
  explicit ReversibleEmbeddingLayer(std::int64_t input_dim, std::int64_t output_dim,
                                    ReversibleEmbeddingOptions options = {});
  std::string class_name() const override { return "ReversibleEmbedding"; }
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  void build(const Shape& input) override;
  Tensor call(const Tensor& input, const CallContext& context) override;
  Element compute_mask(const Element& inputs, const Element& mask) override;

 private:
  bool tie_weights_;
  std::optional<std::string> reverse_dtype_;
  std::optional<double> logit_soft_cap_;
  Variable reverse_embeddings_;
};

struct ReversibleEmbedding : LayerHandle<ReversibleEmbeddingLayer> {
  explicit ReversibleEmbedding(std::int64_t input_dim, std::int64_t output_dim, ReversibleEmbeddingOptions options = {})
      : LayerHandle<ReversibleEmbeddingLayer>(
            std::make_shared<ReversibleEmbeddingLayer>(input_dim, output_dim, std::move(options))) {}
  // Logits over the vocabulary for each vector.
  Tensor reverse(const Tensor& input) const { return (*this)(input, {.arguments = {{"reverse", true}}}); }
  SymbolicTensor reverse(const SymbolicTensor& input) const {
    return (*this)(input, {.arguments = {{"reverse", true}}});
  }
};

}  // namespace cohort::layers
