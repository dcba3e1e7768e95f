#include "cohort/layers/preprocessing/image_layer.h"

#include <algorithm>
#include <cmath>

#include "cohort/core/text.h"
#include "cohort/layers/spatial_axes.h"
#include "cohort/ops/array.h"
#include "cohort/ops/cast.h"
#include "cohort/ops/channels.h"
#include "cohort/ops/random_ops.h"
#include "cohort/ops/slicing.h"

namespace cohort::layers {

void ImageLayer::visit_fields(FieldVisitor& visitor) {
  Layer::visit_fields(visitor);
  visitor.field("data_format", data_format_);
}

void ImageLayer::fields_changed() {
  check_data_format(*this, data_format_);
  choose_seed();
}

Tensor ImageLayer::call(const Tensor& input, const CallContext& context) {
  const int rank = input.rank();
  if (rank != 3 && rank != 4) {
    throw invalid_argument(title(),
                           "input must be images with 4 axes " + spatial_axes(2, data_format_ != "channels_first") +
                               ", or one image without the batch",
                           {{"input.shape", input.shape()}});
  }
  return ops::with_images_channels_last(class_name(), keeps_type() ? input : ops::cast(input, compute_dtype()),
                                        data_format_,
                                        [&](const Tensor& images) { return transform(images, context.training); });
}

void ImageLayer::check_size_known(const Tensor& images) const {
  if (images.shape()[1] != kUnknown && images.shape()[2] != kUnknown) return;
  throw invalid_argument(title(), "height and width of the images must be known", {{"images.shape", images.shape()}});
}

Tensor ImageLayer::draw_wide(const Tensor& images, double low, double high) {
  const Tensor one_each = ops::slice(images, {0, 0, 0, 0}, {-1, 1, 1, 1});
  return ops::random_uniform_like(ops::cast(one_each, DType::Float32), low, high, next_seed());
}

Tensor ImageLayer::draw(const Tensor& images, double low, double high) {
  return ops::squeeze(draw_wide(images, low, high), {2, 3});
}

Factor::Ends Factor::ends(const Layer& layer, const char* name, double lowest) const {
  bool fits = values.size() == 1 || values.size() == 2;
  for (double value : values) fits = fits && value >= lowest && value <= 1.0;
  if (!fits) {
    throw invalid_argument(
        layer.class_name(),
        std::string(name) + " must be a number or two numbers in [" + std::to_string(lowest) + ", 1]",
        {{name, "(" + join(values) + ")"}});
  }
  if (values.size() == 2) return {std::min(values[0], values[1]), std::max(values[0], values[1])};
  const double reach = std::abs(values[0]);
  return {-reach, reach};
}

void check_affine_options(const Layer& layer, const std::string& fill_mode, const std::string& interpolation) {
  if (fill_mode != "reflect" && fill_mode != "wrap" && fill_mode != "constant" && fill_mode != "nearest") {
    throw invalid_argument(layer.class_name(), "fill_mode must be 'reflect', 'wrap', 'constant' or 'nearest'",
                           {{"fill_mode", in_quotes(fill_mode)}});
  }
  if (interpolation != "bilinear" && interpolation != "nearest") {
    throw invalid_argument(layer.class_name(), "interpolation must be 'bilinear' or 'nearest'",
                           {{"interpolation", in_quotes(interpolation)}});
  }
}

}  // namespace cohort::layers
