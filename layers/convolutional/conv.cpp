#include "cohort/layers/convolutional/conv.h"

#include "cohort/layers/convolutional/conv_support.h"
#include "cohort/layers/layer_checks.h"
#include "cohort/ops/conv.h"

namespace cohort::layers {

ConvLayer::ConvLayer(int rank, std::int64_t filters, Window kernel_size, ConvOptions options)
    : rank_(rank), filters_(filters), kernel_size_(std::move(kernel_size)), options_(std::move(options)) {
  take_options(options_);
}

void ConvLayer::visit_fields(FieldVisitor& visitor) {
  Layer::visit_fields(visitor);
  visitor.field("filters", filters_);
  visitor.field("kernel_size", kernel_size_);
  visit_options(options_, visitor);
}

void ConvLayer::fields_changed() {
  const std::string who = class_name();
  standardize_conv(who, rank_, kernel_size_, options_.strides, options_.dilation_rate, options_.padding);
  check_data_format(*this, options_.data_format);
  if (filters_ <= 0 || options_.groups <= 0 || filters_ % options_.groups != 0) {
    throw invalid_argument(who, "filters must be positive and divisible by groups",
                           {{"filters", filters_}, {"groups", options_.groups}});
  }
  check_strides_or_dilation(who, options_.strides, options_.dilation_rate);
  activity_regularizer_ = options_.activity_regularizer;
}

void ConvLayer::build(const Shape& input) {
  const std::int64_t channels = conv_channels(*this, input, rank_, options_.data_format);
  if (channels % options_.groups != 0) {
    throw invalid_argument(title(), "the number of channels must be divisible by groups",
                           {{"input.shape", input}, {"groups", options_.groups}});
  }
  check_kernel_fits(*this, input, options_.data_format, kernel_size_, options_.dilation_rate, options_.padding);
  Shape shape(kernel_size_.sizes);
  shape.push_back(channels / options_.groups);
  shape.push_back(filters_);
  kernel_ = add_weight("kernel", shape,
                       {.initializer = options_.kernel_initializer,
                        .dtype = dtype(),
                        .regularizer = options_.kernel_regularizer,
                        .constraint = options_.kernel_constraint});
  if (options_.use_bias) {
    bias_ = add_weight("bias", {filters_},
                       {.initializer = options_.bias_initializer,
                        .dtype = dtype(),
                        .regularizer = options_.bias_regularizer,
                        .constraint = options_.bias_constraint});
  }
}

Tensor ConvLayer::call(const Tensor& input, const CallContext&) {
  conv_channels(*this, input.shape(), rank_, options_.data_format, kernel_.shape().dim(-2) * options_.groups);
  check_kernel_fits(*this, input.shape(), options_.data_format, kernel_size_, options_.dilation_rate, options_.padding);
  const Tensor image = conv_input(*this, input, options_.data_format);
  const Tensor output = ops::conv(
      image, kernel_,
      {.strides = options_.strides.sizes, .padding = options_.padding, .dilation_rate = options_.dilation_rate.sizes});
  return conv_output(output, bias_, options_.data_format, options_.activation);
}

}  // namespace cohort::layers
