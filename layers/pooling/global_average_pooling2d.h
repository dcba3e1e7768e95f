#pragma once

#include <string>

#include "cohort/model/layer.h"

namespace cohort::layers {

struct GlobalAveragePooling2DOptions {
  std::string data_format = {};
  bool keepdims = false;
  std::string name = {};
};

// The mean over height and width: (batch, height, width, channels) to (batch, channels).
class GlobalAveragePooling2DLayer : public Layer {
 public:
  explicit GlobalAveragePooling2DLayer(GlobalAveragePooling2DOptions options = {});
  std::string class_name() const override { return "GlobalAveragePooling2D"; }
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  Tensor call(const Tensor& input, const CallContext& context) override;

 private:
  GlobalAveragePooling2DOptions options_;
};

struct GlobalAveragePooling2D : LayerHandle<GlobalAveragePooling2DLayer> {
  explicit GlobalAveragePooling2D(GlobalAveragePooling2DOptions options = {})
      : LayerHandle<GlobalAveragePooling2DLayer>(std::make_shared<GlobalAveragePooling2DLayer>(std::move(options))) {}
};

}  // namespace cohort::layers
