#include "cohort/layers/pooling/pooling.h"

#include "cohort/core/text.h"
#include "cohort/layers/spatial_axes.h"

namespace cohort::layers {

PoolingLayer::PoolingLayer(int axes, Window pool_size, PoolingOptions options)
    : axes_(axes), pool_size_(std::move(pool_size)), options_(std::move(options)) {
  take_options(options_);
}

void PoolingLayer::visit_fields(FieldVisitor& visitor) {
  Layer::visit_fields(visitor);
  visitor.field("pool_size", pool_size_);
  visit_options(options_, visitor);
}

void PoolingLayer::fields_changed() {
  pool_size_.standardize(class_name(), "pool_size", axes_);
  if (options_.strides.sizes.empty()) options_.strides = pool_size_;
  options_.strides.standardize(class_name(), "strides", axes_);
  check_data_format(*this, options_.data_format);
  if (options_.padding != "valid" && options_.padding != "same") {
    throw invalid_argument(class_name(), "padding must be 'valid' or 'same'",
                           {{"padding", in_quotes(options_.padding)}});
  }
}

Tensor PoolingLayer::call(const Tensor& input, const CallContext&) {
  check_spatial_rank(*this, input.shape(), axes_, options_.data_format);
  return pool(input, pool_size_.sizes, {options_.strides.sizes, options_.padding, options_.data_format});
}

}  // namespace cohort::layers
