#pragma once

#include <string>
#include <vector>

#include "cohort/layers/basic_options.h"
#include "cohort/model/layer/layer.h"

namespace cohort::layers {

class CustomScaleLayer : public Layer {
 public:
  explicit CustomScaleLayer(double scale = 1.0, NameOption options = {});
  std::string module_name() const override { return "keras.src.applications.inception_resnet_v2"; }
  void visit_fields(FieldVisitor& visitor) override;
  void build_many(const std::vector<Shape>&) override {}
  Tensor call_many(const Tensors& inputs, const CallContext& context) override;

 private:
  double scale_;
};

// Adds the second input, times a constant, to the first, as the residual blocks of InceptionResNetV2 do. Keras calls it
// CustomScaleLayer.
// Input two tensors of any shapes that broadcast together, output their common shape.
//   scale: the second input's factor.
struct CustomScale : LayerHandle<CustomScaleLayer> {
  explicit CustomScale(double scale, NameOption options = {});
};

}  // namespace cohort::layers
