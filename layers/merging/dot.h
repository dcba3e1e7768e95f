#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cohort/model/layer/layer.h"
#include "cohort/ops/axes_codec.h"

namespace cohort::layers {

struct DotOptions {
  bool normalize = false;  // Scale to length 1 along the axes first, which gives the cosine similarity.
  DTypePolicy dtype = {};
  std::string name = {};
};
COHORT_FIELDS(DotOptions, normalize)

class DotLayer : public Layer {
 public:
  DotLayer() : DotLayer(-1) {}
  explicit DotLayer(ops::Axes axes, DotOptions options = {});
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

// For each sample, the dot products of two inputs over one axis of each.
// Input (batch, ...) of each, output (batch, the first's other axes, the second's other axes); (batch, 1) for two
// vectors.
//   axes: axis to sum over, other than the batch: one number for both inputs or
//     {axis of the first, axis of the second}.
struct Dot : LayerHandle<DotLayer> {
  explicit Dot(ops::Axes axes, DotOptions options = {});
};

}  // namespace cohort::layers
