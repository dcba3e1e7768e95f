#include "cohort/layers/convolutional/conv_transpose.h"

#include "cohort/layers/convolutional/conv_support.h"
#include "cohort/layers/layer_checks.h"
#include "cohort/ops/conv.h"

namespace cohort::layers {

ConvTransposeLayer::ConvTransposeLayer(int rank, std::int64_t filters, Window kernel_size, ConvTransposeOptions options)
    : rank_(rank), filters_(filters), kernel_size_(std::move(kernel_size)), options_(std::move(options)) {
  take_options(options_);
}

void ConvTransposeLayer::visit_fields(FieldVisitor& visitor) {
  Layer::visit_fields(visitor);
  visitor.field("filters", filters_);
  visitor.field("kernel_size", kernel_size_);
  visit_options(options_, visitor);
}

void ConvTransposeLayer::fields_changed() {
  const std::string who = class_name();
  standardize_conv(who, rank_, kernel_size_, options_.strides, options_.dilation_rate, options_.padding);
  check_data_format(*this, options_.data_format);
  if (filters_ <= 0) throw invalid_argument(who, "filters must be positive", {{"filters", filters_}});
  check_strides_or_dilation(who, options_.strides, options_.dilation_rate);
  if (options_.output_padding) {
    options_.output_padding->standardize(who, "output_padding", rank_, /*allow_zero=*/true);
    for (std::size_t i = 0; i < options_.strides.sizes.size(); ++i) {
      if (options_.output_padding->sizes[i] < options_.strides.sizes[i]) continue;
      throw invalid_argument(
          who, "output_padding must be below strides on every axis",
          {{"output_padding", Shape(options_.output_padding->sizes)}, {"strides", Shape(options_.strides.sizes)}});
    }
  }
  activity_regularizer_ = options_.activity_regularizer;
}

void ConvTransposeLayer::build(const Shape& input) {
  Shape shape(kernel_size_.sizes);
  shape.push_back(filters_);
  shape.push_back(conv_channels(*this, input, rank_, options_.data_format));
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

Tensor ConvTransposeLayer::call(const Tensor& input, const CallContext&) {
  conv_channels(*this, input.shape(), rank_, options_.data_format, kernel_.shape().back());
  const Tensor image = conv_input(*this, input, options_.data_format);
  std::optional<std::vector<std::int64_t>> output_padding;
  if (options_.output_padding) output_padding = options_.output_padding->sizes;
  const Tensor output = ops::conv_transpose(image, kernel_,
                                            {.strides = options_.strides.sizes,
                                             .padding = options_.padding,
                                             .output_padding = output_padding,
                                             .dilation_rate = options_.dilation_rate.sizes});
  return conv_output(output, bias_, options_.data_format, options_.activation);
}

}  // namespace cohort::layers
