#pragma once

#include <cstdint>
#include <string>

#include "cohort/layers/basic_options.h"
#include "cohort/model/layer/layer.h"

namespace cohort::layers {

class LayerScaleLayer : public Layer {
 public:
  LayerScaleLayer() : LayerScaleLayer(1.0, 1) {}
  explicit LayerScaleLayer(double init_values, std::int64_t projection_dim, NameOption options = {});
  std::string module_name() const override { return "keras.src.applications.convnext"; }
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  void build(const Shape& input) override;
  Tensor call(const Tensor& input, const CallContext& context) override;

 private:
  double init_values_;
  std::int64_t projection_dim_;
  Variable gamma_;
};

// Multiplies each channel by a learned factor, as the residual branches of ConvNeXt do.
// Input (batch, ..., channels), output the same.
//   init_values: what every factor begins with, such as 1e-6.
//   projection_dim: number of channels, the size of the input's last axis.
struct LayerScale : LayerHandle<LayerScaleLayer> {
  explicit LayerScale(double init_values, std::int64_t projection_dim, NameOption options = {});
};

}  // namespace cohort::layers
