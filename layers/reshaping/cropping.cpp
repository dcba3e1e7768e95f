#include "cohort/layers/reshaping/cropping.h"

#include "cohort/layers/spatial_axes.h"
#include "cohort/ops/slicing.h"

namespace cohort::layers {

CroppingLayer::CroppingLayer(int axes, Margins cropping, CroppingOptions options)
    : axes_(axes), cropping_(std::move(cropping)), options_(std::move(options)) {
  take_options(options_);
}

// One axis has a plain pair in Keras's configs, several have a pair each.
void CroppingLayer::visit_fields(FieldVisitor& visitor) {
  Layer::visit_fields(visitor);
  if (axes_ == 1) {
    visitor.field("cropping", cropping_.sizes[0]);
  } else {
    visitor.field("cropping", cropping_.sizes);
  }
  if (axes_ > 1) visitor.field("data_format", options_.data_format);
}

void CroppingLayer::fields_changed() {
  cropping_.standardize(class_name(), "cropping", axes_);
  check_data_format(*this, options_.data_format);
}

Tensor CroppingLayer::call(const Tensor& input, const CallContext&) {
  check_spatial_rank(*this, input.shape(), axes_, options_.data_format);
  const std::vector<std::int64_t> positions = spatial_positions(axes_, options_.data_format);
  std::vector<ops::SliceSpec> slices(static_cast<std::size_t>(input.rank()));
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const std::int64_t before = cropping_.sizes[i][0], after = cropping_.sizes[i][1];
    const std::int64_t size = input.shape()[static_cast<int>(positions[i])];
    if (size != kUnknown && before + after >= size) {
      throw invalid_argument(title(), "cropping must leave something of every axis",
                             {{"cropping", cropping_.to_string()}, {"input.shape", input.shape()}});
    }
    ops::SliceSpec& slice = slices[static_cast<std::size_t>(positions[i])];
    slice.begin = before;
    if (after > 0) slice.end = -after;
  }
  return ops::strided_slice(input, slices);
}

COHORT_REGISTER(Layer, Cropping1DLayer, "Cropping1D");
COHORT_REGISTER(Layer, Cropping2DLayer, "Cropping2D");
COHORT_REGISTER(Layer, Cropping3DLayer, "Cropping3D");

Cropping1D::Cropping1D(Margin cropping, NameOption options)
    : LayerHandle<Cropping1DLayer>(std::make_shared<Cropping1DLayer>(cropping, std::move(options))) {}
Cropping2D::Cropping2D(Margins cropping, CroppingOptions options)
    : LayerHandle<Cropping2DLayer>(std::make_shared<Cropping2DLayer>(std::move(cropping), std::move(options))) {}
Cropping3D::Cropping3D(Margins cropping, CroppingOptions options)
    : LayerHandle<Cropping3DLayer>(std::make_shared<Cropping3DLayer>(std::move(cropping), std::move(options))) {}

}  // namespace cohort::layers
