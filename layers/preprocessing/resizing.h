#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cohort/layers/preprocessing/image_layer.h"

namespace cohort::layers {

struct ResizingOptions {
  // How new pixels are computed: 'bilinear', 'nearest', 'bicubic', 'lanczos3', 'lanczos5' or 'area'.
  std::string interpolation = "bilinear";
  // Whether what does not fit the ratio of height and width is cut off first, so that nothing is distorted.
  bool crop_to_aspect_ratio = false;
  // Whether the image is padded to the ratio of height and width first; not together with crop_to_aspect_ratio.
  bool pad_to_aspect_ratio = false;
  // How padding is filled: must be 'constant'.
  std::string fill_mode = "constant";
  // Value of the padding.
  double fill_value = 0.0;
  // Whether shrinking averages over all the pixels that a new one covers.
  bool antialias = false;
  std::string data_format = {};
  DTypePolicy dtype = {};
  std::string name = {};
};
COHORT_FIELDS(ResizingOptions, interpolation, crop_to_aspect_ratio, pad_to_aspect_ratio, fill_mode, fill_value,
              antialias)

class ResizingLayer : public ImageLayer {
 public:
  ResizingLayer() : ResizingLayer(1, 1) {}
  ResizingLayer(std::int64_t height, std::int64_t width, ResizingOptions options = {});
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

// Brings images to another size; integer types are rounded.
// Input (batch, any height, any width, channels) or one image without the batch, output (batch, height, width,
// channels) of the input's type.
//   height: height of the output in pixels.
//   width: width of the output in pixels.
struct Resizing : LayerHandle<ResizingLayer> {
  Resizing(std::int64_t height, std::int64_t width, ResizingOptions options = {});
};

}  // namespace cohort::layers
