#include "cohort/layers/reshaping/zero_padding.h"

#include "cohort/layers/spatial_axes.h"
#include "cohort/ops/slicing.h"

namespace cohort::layers {

ZeroPaddingLayer::ZeroPaddingLayer(int axes, Margins padding, ZeroPaddingOptions options)
    : axes_(axes), padding_(std::move(padding)), options_(std::move(options)) {
  take_options(options_);
}

// One axis has a plain pair in Keras's configs, several have a pair each.
void ZeroPaddingLayer::visit_fields(FieldVisitor& visitor) {
  Layer::visit_fields(visitor);
  if (axes_ == 1) {
    visitor.field("padding", padding_.sizes[0]);
  } else {
    visitor.field("padding", padding_.sizes);
  }
  visit_options(options_, visitor);
}

void ZeroPaddingLayer::fields_changed() {
  padding_.standardize(class_name(), "padding", axes_);
  check_data_format(*this, options_.data_format);
}

Tensor ZeroPaddingLayer::call(const Tensor& input, const CallContext&) {
  check_spatial_rank(*this, input.shape(), axes_, options_.data_format);
  const std::vector<std::int64_t> positions = spatial_positions(axes_, options_.data_format);
  std::vector<std::pair<std::int64_t, std::int64_t>> paddings(static_cast<std::size_t>(input.rank()), {0, 0});
  for (std::size_t i = 0; i < positions.size(); ++i) {
    paddings[static_cast<std::size_t>(positions[i])] = {padding_.sizes[i][0], padding_.sizes[i][1]};
  }
  return ops::pad(input, paddings);
}

COHORT_REGISTER(Layer, ZeroPadding1DLayer, "ZeroPadding1D");
COHORT_REGISTER(Layer, ZeroPadding2DLayer, "ZeroPadding2D");
COHORT_REGISTER(Layer, ZeroPadding3DLayer, "ZeroPadding3D");

ZeroPadding1D::ZeroPadding1D(Margin padding, ZeroPaddingOptions options)
    : LayerHandle<ZeroPadding1DLayer>(std::make_shared<ZeroPadding1DLayer>(padding, std::move(options))) {}
ZeroPadding2D::ZeroPadding2D(Margins padding, ZeroPaddingOptions options)
    : LayerHandle<ZeroPadding2DLayer>(std::make_shared<ZeroPadding2DLayer>(std::move(padding), std::move(options))) {}
ZeroPadding3D::ZeroPadding3D(Margins padding, ZeroPaddingOptions options)
    : LayerHandle<ZeroPadding3DLayer>(std::make_shared<ZeroPadding3DLayer>(std::move(padding), std::move(options))) {}

}  // namespace cohort::layers
