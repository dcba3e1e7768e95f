#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cohort/layers/preprocessing/image_layer.h"

namespace cohort::layers {

struct CenterCropOptions {
  std::string data_format = {};
  DTypePolicy dtype = {};
  std::string name = {};
};

class CenterCropLayer : public ImageLayer {
 public:
  CenterCropLayer() : CenterCropLayer(1, 1) {}
  CenterCropLayer(std::int64_t height, std::int64_t width, CenterCropOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;

 protected:
  Tensor transform(const Tensor& images, bool training) override;

 private:
  std::int64_t height_, width_;
};

// Cuts out the middle of images. Images that are too small are cropped to the ratio of height and width and enlarged.
// Input (batch, any height, any width, channels) or one image without the batch, output (batch, height, width,
// channels).
//   height: height of the output in pixels.
//   width: width of the output in pixels.
struct CenterCrop : LayerHandle<CenterCropLayer> {
  CenterCrop(std::int64_t height, std::int64_t width, CenterCropOptions options = {});
};

}  // namespace cohort::layers
