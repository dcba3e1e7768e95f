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
  bool use_scale = false;          // multiplies the scores with a weight
  std::string score_mode = "dot";  // "dot": query . key; "concat": sum(tanh(query + key)), times a weight
  double dropout = 0.0;
  std::optional<std::int64_t> seed = std::nullopt;
  DTypePolicy dtype = {};
  std::string name = {};
};

// Called with [query, value] or [query, value, key]: query (batch, steps, size), value (batch, keys, value size), key
// (batch, keys, size) to (batch, steps, value size), the mean of the values weighted by softmax of the scores.
class AttentionLayer : public SeededLayer {
 public:
  explicit AttentionLayer(AttentionOptions options = {});
  std::string class_name() const override { return "Attention"; }
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

struct Attention : LayerHandle<AttentionLayer> {
  explicit Attention(AttentionOptions options = {})
      : LayerHandle<AttentionLayer>(std::make_shared<AttentionLayer>(std::move(options))) {}
};

}  // namespace cohort::layers
