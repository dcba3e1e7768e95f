#include "cohort/layers/convolutional/separable_conv.h"

#include "cohort/layers/convolutional/conv_support.h"
#include "cohort/layers/layer_checks.h"
#include "cohort/ops/conv.h"

namespace cohort::layers {

SeparableConvLayer::SeparableConvLayer(int rank, std::int64_t filters, Window kernel_size, SeparableConvOptions options)
    : rank_(rank), filters_(filters), kernel_size_(std::move(kernel_size)), options_(std::move(options)) {
  take_options(options_);
}

void SeparableConvLayer::visit_fields(FieldVisitor& visitor) {
  Layer::visit_fields(visitor);
  visitor.field("depth_multiplier", options_.depth_multiplier);
  visitor.field("filters", filters_);
  visitor.field("kernel_size", kernel_size_);
  visit_options(options_, visitor);
}

void SeparableConvLayer::fields_changed() {
  const std::string who = class_name();
  standardize_conv(who, rank_, kernel_size_, options_.strides, options_.dilation_rate, options_.padding);
  check_data_format(*this, options_.data_format);
  if (filters_ <= 0 || options_.depth_multiplier <= 0) {
    throw invalid_argument(who, "filters and depth_multiplier must be positive",
                           {{"filters", filters_}, {"depth_multiplier", options_.depth_multiplier}});
  }
  activity_regularizer_ = options_.activity_regularizer;
}

void SeparableConvLayer::build(const Shape& input) {
  const std::int64_t channels = conv_channels(*this, input, rank_, options_.data_format);
  check_kernel_fits(*this, input, options_.data_format, kernel_size_, options_.dilation_rate, options_.padding);
  Shape depthwise(kernel_size_.sizes), pointwise;
  depthwise.push_back(channels);
  depthwise.push_back(options_.depth_multiplier);
  for (int i = 0; i < rank_; ++i) pointwise.push_back(1);
  pointwise.push_back(channels * options_.depth_multiplier);
  pointwise.push_back(filters_);
  depthwise_kernel_ = add_weight("depthwise_kernel", depthwise,
                                 {.initializer = options_.depthwise_initializer,
                                  .dtype = dtype(),
                                  .regularizer = options_.depthwise_regularizer,
                                  .constraint = options_.depthwise_constraint});
  pointwise_kernel_ = add_weight("pointwise_kernel", pointwise,
                                 {.initializer = options_.pointwise_initializer,
                                  .dtype = dtype(),
                                  .regularizer = options_.pointwise_regularizer,
                                  .constraint = options_.pointwise_constraint});
  if (options_.use_bias) {
    bias_ = add_weight("bias", {filters_},
                       {.initializer = options_.bias_initializer,
                        .dtype = dtype(),
                        .regularizer = options_.bias_regularizer,
                        .constraint = options_.bias_constraint});
  }
}

Tensor SeparableConvLayer::call(const Tensor& input, const CallContext&) {
  conv_channels(*this, input.shape(), rank_, options_.data_format, depthwise_kernel_.shape().dim(-2));
  check_kernel_fits(*this, input.shape(), options_.data_format, kernel_size_, options_.dilation_rate, options_.padding);
  const Tensor image = conv_input(*this, input, options_.data_format);
  const Tensor output = ops::separable_conv(
      image, depthwise_kernel_, pointwise_kernel_,
      {.strides = options_.strides.sizes, .padding = options_.padding, .dilation_rate = options_.dilation_rate.sizes});
  return conv_output(output, bias_, options_.data_format, options_.activation);
}

}  // namespace cohort::layers
