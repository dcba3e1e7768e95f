#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cohort/layers/core/embedding.h"

namespace cohort::layers {

struct ReversibleEmbeddingOptions {
  // The reverse projection uses the transposed table; false: a matrix (output_dim, input_dim) of its own.
  bool tie_weights = true;
  Ref<Initializer> embeddings_initializer = "uniform";
  Ref<Regularizer> embeddings_regularizer = {};
  Ref<Constraint> embeddings_constraint = {};
  bool mask_zero = false;  // Id 0 is padding, as for Embedding; there is no mask in reverse.
  // Floating type of the reverse projection, such as 'float32'; empty: the one that input and table promote to.
  std::optional<std::string> reverse_dtype = std::nullopt;
  // Positive bound c of the logits, c * tanh(logits / c); empty: no bound.
  std::optional<double> logit_soft_cap = std::nullopt;
  // Values (input_dim, output_dim) to start with in place of the initializer; empty: the initializer.
  Tensor weights = {};
  Ref<Regularizer> activity_regularizer = {};
  DTypePolicy dtype = {};
  std::string name = {};
};

class ReversibleEmbeddingLayer : public EmbeddingLayer {
 public:
  ReversibleEmbeddingLayer() : ReversibleEmbeddingLayer(1, 1) {}
  explicit ReversibleEmbeddingLayer(std::int64_t input_dim, std::int64_t output_dim,
                                    ReversibleEmbeddingOptions options = {});
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

// An Embedding that can also project vectors back onto the vocabulary, by reverse() or by calling it with the argument
// {"reverse", true}.
// Input (batch, ...) of ids, output (batch, ..., output_dim); in reverse, input (batch, ..., output_dim), output logits
// (batch, ..., input_dim).
//   input_dim: number of rows, the largest id + 1.
//   output_dim: size of each vector.
struct ReversibleEmbedding : LayerHandle<ReversibleEmbeddingLayer> {
  explicit ReversibleEmbedding(std::int64_t input_dim, std::int64_t output_dim,
                               ReversibleEmbeddingOptions options = {});
  // Logits over the vocabulary for each vector.
  Tensor reverse(const Tensor& input) const { return (*this)(input, {.arguments = {{"reverse", true}}}); }
  SymbolicTensor reverse(const SymbolicTensor& input) const {
    return (*this)(input, {.arguments = {{"reverse", true}}});
  }
};

}  // namespace cohort::layers
