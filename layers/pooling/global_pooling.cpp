#include "cohort/layers/pooling/global_pooling.h"

#include "cohort/layers/spatial_axes.h"
#include "cohort/ops/array.h"
#include "cohort/ops/math.h"
#include "cohort/ops/reduce.h"

namespace cohort::layers {

GlobalPoolingLayer::GlobalPoolingLayer(int axes, bool maximum, GlobalPoolingOptions options)
    : axes_(axes), maximum_(maximum), options_(std::move(options)) {
  // The only one in Keras that looks at a mask.
  supports_masking_ = axes == 1 && !maximum;
  take_options(options_);
}

void GlobalPoolingLayer::visit_fields(FieldVisitor& visitor) {
  Layer::visit_fields(visitor);
  visit_options(options_, visitor);
}

void GlobalPoolingLayer::fields_changed() { check_data_format(*this, options_.data_format); }

Tensor GlobalPoolingLayer::call(const Tensor& input, const CallContext& context) {
  check_spatial_rank(*this, input.shape(), axes_, options_.data_format);
  const ops::Axes axes(spatial_positions(axes_, options_.data_format));
  if (maximum_) return ops::max(input, axes, options_.keepdims);
  const Tensor mask = supports_masking_ && context.mask.is_leaf() ? context.mask.leaf() : Tensor();
  if (!mask.defined()) return ops::mean(input, axes, options_.keepdims);
  const Tensor counts =
      ops::expand_dims(ops::cast(mask, DType::Bool), options_.data_format == "channels_first" ? 1 : 2);
  const Tensor sum = ops::sum(ops::where(counts, input, 0.0), axes, options_.keepdims);
  return sum / ops::sum(ops::cast(counts, input.dtype()), axes, options_.keepdims);
}

Element GlobalPoolingLayer::compute_mask(const Element&, const Element&) { return {}; }

COHORT_REGISTER(Layer, GlobalAveragePooling1DLayer, "GlobalAveragePooling1D");
COHORT_REGISTER(Layer, GlobalAveragePooling2DLayer, "GlobalAveragePooling2D");
COHORT_REGISTER(Layer, GlobalAveragePooling3DLayer, "GlobalAveragePooling3D");
COHORT_REGISTER(Layer, GlobalMaxPooling1DLayer, "GlobalMaxPooling1D");
COHORT_REGISTER(Layer, GlobalMaxPooling2DLayer, "GlobalMaxPooling2D");
COHORT_REGISTER(Layer, GlobalMaxPooling3DLayer, "GlobalMaxPooling3D");

GlobalAveragePooling1D::GlobalAveragePooling1D(GlobalPoolingOptions options)
    : LayerHandle<GlobalAveragePooling1DLayer>(std::make_shared<GlobalAveragePooling1DLayer>(std::move(options))) {}
GlobalAveragePooling2D::GlobalAveragePooling2D(GlobalPoolingOptions options)
    : LayerHandle<GlobalAveragePooling2DLayer>(std::make_shared<GlobalAveragePooling2DLayer>(std::move(options))) {}
GlobalAveragePooling3D::GlobalAveragePooling3D(GlobalPoolingOptions options)
    : LayerHandle<GlobalAveragePooling3DLayer>(std::make_shared<GlobalAveragePooling3DLayer>(std::move(options))) {}
GlobalMaxPooling1D::GlobalMaxPooling1D(GlobalPoolingOptions options)
    : LayerHandle<GlobalMaxPooling1DLayer>(std::make_shared<GlobalMaxPooling1DLayer>(std::move(options))) {}
GlobalMaxPooling2D::GlobalMaxPooling2D(GlobalPoolingOptions options)
    : LayerHandle<GlobalMaxPooling2DLayer>(std::make_shared<GlobalMaxPooling2DLayer>(std::move(options))) {}
GlobalMaxPooling3D::GlobalMaxPooling3D(GlobalPoolingOptions options)
    : LayerHandle<GlobalMaxPooling3DLayer>(std::make_shared<GlobalMaxPooling3DLayer>(std::move(options))) {}

}  // namespace cohort::layers
