#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cohort/model/layer/layer.h"
#include "cohort/ops/reduce.h"

namespace cohort::layers {

struct DotOptions {
  bool normalize = false;  // to length 1 along the axes first: the cosine of the angle between vectors
  DTypePolicy dtype = {};
  std::string name = {};
};

// For each sample the products of two inputs, summed over one axis of each: the result has the other axes of the first,
// then those of the second. Two vectors give (batch, 1).
class DotLayer : public Layer {
 public:
  DotLayer() : DotLayer(-1) {}
  explicit DotLayer(ops::Axes axes, DotOptions options = {});
  std::string class_name() const override { return "Dot"; }
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  void build_many(const std::vector<Shape>& inputs) override;
  Tensor call(const Tensor& input, const CallContext& context) override;
  Tensor call_many(const Tensors& inputs, const CallContext& context) override;
  Element compute_mask(const Element& inputs, const Element& mask) override;

 private:
  std::vector<std::int64_t> axes_of(const Shape& first, const Shape& second) const;
  ops::Axes axes_;
  DotOptions options_;
};

struct Dot : LayerHandle<DotLayer> {
  explicit Dot(ops::Axes axes, DotOptions options = {})
      : LayerHandle<DotLayer>(std::make_shared<DotLayer>(std::move(axes), std::move(options))) {}
};

}  // namespace cohort::layers
