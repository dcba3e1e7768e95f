#pragma once

#include <string>

#include "cohort/model/layer/layer.h"

namespace cohort::layers {

struct MaskingOptions {
  double mask_value = 0.0;
  DTypePolicy dtype = {};
  std::string name = {};
};

// Masks the steps of (batch, steps, features) whose features all equal mask_value: they become 0, and the layers behind
// it, the loss and the metrics leave them out.
class MaskingLayer : public Layer {
 public:
  explicit MaskingLayer(MaskingOptions options = {});
  std::string class_name() const override { return "Masking"; }
  void visit_fields(FieldVisitor& visitor) override;
  Tensor call(const Tensor& input, const CallContext& context) override;
  Element compute_mask(const Element& inputs, const Element& mask) override;

 private:
  MaskingOptions options_;
};

struct Masking : LayerHandle<MaskingLayer> {
  explicit Masking(double mask_value = 0.0) : Masking(MaskingOptions{.mask_value = mask_value}) {}
  explicit Masking(MaskingOptions options)
      : LayerHandle<MaskingLayer>(std::make_shared<MaskingLayer>(std::move(options))) {}
};

}  // namespace cohort::layers
