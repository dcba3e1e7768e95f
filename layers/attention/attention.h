#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cohort/layers/seeded_layer.h"
#include "cohort/model/layer/layer.h"

namespace cohort::layers {

struct AttentionOptions {
  // Whether a trainable scalar, 1 at first, scales the scores.
  bool use_scale = false;
  // How a query and a key are scored: 'dot' is their dot product, 'concat' is sum(tanh(query + key)) times a trainable
  // scalar. With use_scale and 'concat' it is query + key that is scaled.
  std::string score_mode = "dot";
  // Fraction of the attention weights dropped in training, in [0, 1].
  double dropout = 0.0;
  std::optional<std::int64_t> seed = std::nullopt;
  DTypePolicy dtype = {};
  std::string name = {};
};
COHORT_FIELDS(AttentionOptions, use_scale, score_mode, dropout)

class AttentionLayer : public SeededLayer {
 public:
  explicit AttentionLayer(AttentionOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  void build_many(const std::vector<Shape>& inputs) override;
  Element call_element(const Element& inputs, const CallContext& context) override;
  Element compute_mask(const Element& inputs, const Element& mask) override;

 protected:
  virtual void make_weights(const Shape& query);
  // (batch, steps, keys)
  virtual Tensor scores(const Tensor& query, const Tensor& key) const;
  void check_inputs(const std::vector<Shape>& inputs) const;
  // query + key for each pair of them: (batch, steps, keys, size).
  static Tensor pairs(const Tensor& query, const Tensor& key);

  AttentionOptions options_;
  Variable scale_, concat_score_weight_;
};

// Dot-product attention without projections: the mean of the values, weighted by the softmax of the scores of query and
// key.
// Input [query, value] or [query, value, key]: query (batch, steps, size), value (batch, keys, value_size), key (batch,
// keys, size), the value where it is left out; output (batch, steps, value_size).
struct Attention : LayerHandle<AttentionLayer> {
  explicit Attention(AttentionOptions options = {});
};

}  // namespace cohort::layers
