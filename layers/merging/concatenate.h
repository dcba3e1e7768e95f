#pragma once

#include <string>
#include <vector>

#include "cohort/model/layer/layer.h"

namespace cohort::layers {

struct ConcatenateOptions {
  int axis = -1;
  DTypePolicy dtype = {};
  std::string name = {};
};

// Joins its inputs along an axis; the others must agree.
class ConcatenateLayer : public Layer {
 public:
  explicit ConcatenateLayer(ConcatenateOptions options = {});
  std::string class_name() const override { return "Concatenate"; }
  void visit_fields(FieldVisitor& visitor) override;
  void build_many(const std::vector<Shape>&) override {}
  Tensor call_many(const Tensors& inputs, const CallContext& context) override;
  // The masks joined like the inputs; an input without one counts whole.
  Element compute_mask(const Element& inputs, const Element& mask) override;

 private:
  ConcatenateOptions options_;
};

struct Concatenate : LayerHandle<ConcatenateLayer> {
  explicit Concatenate(ConcatenateOptions options = {})
      : LayerHandle<ConcatenateLayer>(std::make_shared<ConcatenateLayer>(std::move(options))) {}
};

}  // namespace cohort::layers
