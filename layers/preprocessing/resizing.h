#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cohort/layers/preprocessing/image_layer.h"

namespace cohort::layers {

struct ResizingOptions {
  std::string interpolation = "bilinear";  // or "nearest", "bicubic", "lanczos3", "lanczos5", "area"
  bool crop_to_aspect_ratio = false;       // cut off what would distort the image
  bool pad_to_aspect_ratio = false;        // or fill up
  std::string fill_mode = "constant";
  double fill_value = 0.0;
  bool antialias = false;
  std::string data_format = {};  // "channels_last" when left out, or "channels_first"
  DTypePolicy dtype = {};
  std::string name = {};
};

// Images in another size, of the type they came in: (batch, any height, any width, channels) to (batch, height, width,
// channels).
class ResizingLayer : public ImageLayer {
 public:
  ResizingLayer() : ResizingLayer(1, 1) {}
  ResizingLayer(std::int64_t height, std::int64_t width, ResizingOptions options = {});
  std::string class_name() const override { return "Resizing"; }
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;

 protected:
  Tensor transform(const Tensor& images, bool training) override;
  bool keeps_type() const override { return true; }

 private:
  Tensor crop_or_pad(const Tensor& images) const;
  std::int64_t height_, width_;
  ResizingOptions options_;
};

struct Resizing : LayerHandle<ResizingLayer> {
  Resizing(std::int64_t height, std::int64_t width, ResizingOptions options = {})
      : LayerHandle<ResizingLayer>(std::make_shared<ResizingLayer>(height, width, std::move(options))) {}
};

}  // namespace cohort::layers
