#include "cohort/layers/convolutional/depthwise_conv.h"

#include "cohort/layers/convolutional/conv_support.h"
#include "cohort/layers/layer_checks.h"
#include "cohort/ops/conv.h"

namespace cohort::layers {

DepthwiseConvLayer::DepthwiseConvLayer(int rank, Window kernel_size, DepthwiseConvOptions options)
    : rank_(rank), kernel_size_(std::move(kernel_size)), options_(std::move(options)) {
  take_options(options_);
}

void DepthwiseConvLayer::visit_fields(FieldVisitor& visitor) {
  Layer::visit_fields(visitor);
  visitor.field("depth_multiplier", options_.depth_multiplier);
  visitor.field("kernel_size", kernel_size_);
  visit_options(options_, visitor);
}

void DepthwiseConvLayer::fields_changed() {
  const std::string who = class_name();
  standardize_conv(who, rank_, kernel_size_, options_.strides, options_.dilation_rate, options_.padding);
  check_data_format(*this, options_.data_format);
  if (options_.depth_multiplier <= 0) {
    throw invalid_argument(who, "depth_multiplier must be positive", {{"depth_multiplier", options_.depth_multiplier}});
  }
  activity_regularizer_ = options_.activity_regularizer;
}

void DepthwiseConvLayer::build(const Shape& input) {
  const std::int64_t channels = conv_channels(*this, input, rank_, options_.data_format);
  check_kernel_fits(*this, input, options_.data_format, kernel_size_, options_.dilation_rate, options_.padding);
  Shape shape(kernel_size_.sizes);
  shape.push_back(channels);
  shape.push_back(options_.depth_multiplier);
  kernel_ = add_weight("kernel", shape,
                       {.initializer = options_.depthwise_initializer,
                        .dtype = dtype(),
                        .regularizer = options_.depthwise_regularizer,
                        .constraint = options_.depthwise_constraint});
  if (options_.use_bias) {
    bias_ = add_weight("bias", {channels * options_.depth_multiplier},
                       {.initializer = options_.bias_initializer,
                        .dtype = dtype(),
                        .regularizer = options_.bias_regularizer,
                        .constraint = options_.bias_constraint});
  }
}

Tensor DepthwiseConvLayer::call(const Tensor& input, const CallContext&) {
  conv_channels(*this, input.shape(), rank_, options_.data_format, kernel_.shape().dim(-2));
  check_kernel_fits(*this, input.shape(), options_.data_format, kernel_size_, options_.dilation_rate, options_.padding);
  const Tensor image = conv_input(*this, input, options_.data_format);
  const Tensor output = ops::depthwise_conv(
      image, kernel_,
      {.strides = options_.strides.sizes, .padding = options_.padding, .dilation_rate = options_.dilation_rate.sizes});
  return conv_output(output, bias_, options_.data_format, options_.activation);
}

}  // namespace cohort::layers
