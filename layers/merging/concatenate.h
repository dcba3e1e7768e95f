#pragma once

#include <string>
#include <vector>

#include "cohort/model/layer/layer.h"

namespace cohort::layers {

struct ConcatenateOptions {
  int axis = -1;  // Axis the inputs are joined along; negative counts from the end.
  DTypePolicy dtype = {};
  std::string name = {};
};
COHORT_FIELDS(ConcatenateOptions, axis)

class ConcatenateLayer : public Layer {
 public:
  explicit ConcatenateLayer(ConcatenateOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;
  void build_many(const std::vector<Shape>&) override {}
  Tensor call_many(const Tensors& inputs, const CallContext& context) override;
  // The masks joined like the inputs; an input without one counts whole.
  Element compute_mask(const Element& inputs, const Element& mask) override;

 private:
  ConcatenateOptions options_;
};

// Joins a list of inputs along one axis; the other axes must agree.
// Input (batch, ..., features) of each, output (batch, ..., sum of the features), with the default axis.
struct Concatenate : LayerHandle<ConcatenateLayer> {
  explicit Concatenate(ConcatenateOptions options = {});
};

}  // namespace cohort::layers
