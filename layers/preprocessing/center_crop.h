#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cohort/layers/preprocessing/image_layer.h"

namespace cohort::layers {

struct CenterCropOptions {
  std::string data_format = {};  // "channels_last" when left out, or "channels_first"
  DTypePolicy dtype = {};
  std::string name = {};
};

// The middle of images, (batch, any height, any width, channels) to (batch, height, width, channels); smaller ones are
// cropped to the shape and enlarged.
class CenterCropLayer : public ImageLayer {
 public:
  CenterCropLayer() : CenterCropLayer(1, 1) {}
  CenterCropLayer(std::int64_t height, std::int64_t width, CenterCropOptions options = {});
  std::string class_name() const override { return "CenterCrop"; }
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;

 protected:
  Tensor transform(const Tensor& images, bool training) override;

 private:
  std::int64_t height_, width_;
};

struct CenterCrop : LayerHandle<CenterCropLayer> {
  CenterCrop(std::int64_t height, std::int64_t width, CenterCropOptions options = {})
      : LayerHandle<CenterCropLayer>(std::make_shared<CenterCropLayer>(height, width, std::move(options))) {}
};

}  // namespace cohort::layers
