#pragma once

#include <string>

#include "cohort/model/layer/layer.h"

namespace cohort::layers {

struct MaskingOptions {
  double mask_value = 0.0;  // Value that marks a step to be left out.
  DTypePolicy dtype = {};
  std::string name = {};
};
COHORT_FIELDS(MaskingOptions, mask_value)

class MaskingLayer : public Layer {
 public:
  explicit MaskingLayer(MaskingOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;
  Tensor call(const Tensor& input, const CallContext& context) override;
  Element compute_mask(const Element& inputs, const Element& mask) override;

 private:
  MaskingOptions options_;
};

// Masks the steps whose features all equal mask_value: they become 0, and later layers, the loss and the metrics leave
// them out.
// Input (batch, ..., features), usually (batch, steps, features), output the same shape.
//   mask_value: value that marks a step to be left out.
struct Masking : LayerHandle<MaskingLayer> {
  explicit Masking(double mask_value = 0.0) : Masking(MaskingOptions{.mask_value = mask_value}) {}
  explicit Masking(MaskingOptions options);
};

}  // namespace cohort::layers
