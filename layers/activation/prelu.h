#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cohort/model/layer/layer.h"

namespace cohort::layers {

struct PReLUOptions {
  Ref<Initializer> alpha_initializer = "zeros";
  Ref<Regularizer> alpha_regularizer = {};
  Ref<Constraint> alpha_constraint = {};
  // Axes along which positions share one alpha, counted from 1 (after the batch), such as {1, 2} for images; empty:
  // none.
  std::optional<std::vector<std::int64_t>> shared_axes = std::nullopt;
  DTypePolicy dtype = {};
  std::string name = {};
};
COHORT_FIELDS(PReLUOptions, alpha_initializer, alpha_regularizer, alpha_constraint, shared_axes)

class PReLULayer : public Layer {
 public:
  explicit PReLULayer(PReLUOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;
  void build(const Shape& input) override;
  Tensor call(const Tensor& input, const CallContext& context) override;

 private:
  PReLUOptions options_;
  Variable alpha_;
};

// x where it is positive, elsewhere alpha * x, where alpha is a weight with an element for each position of a sample.
// Input (batch, ...), output the same shape.
struct PReLU : LayerHandle<PReLULayer> {
  explicit PReLU(PReLUOptions options = {});
};

}  // namespace cohort::layers
