#include "cohort/layers/convolutional/conv2d.h"

#include <algorithm>

#include "cohort/layers/layer_checks.h"
#include "cohort/ops/array.h"
#include "cohort/ops/conv.h"
#include "cohort/ops/joining.h"
#include "cohort/ops/math.h"

namespace cohort::layers {

Conv2DLayer::Conv2DLayer(std::int64_t filters, Window kernel_size, Conv2DOptions options)
    : filters_(filters), kernel_size_(std::move(kernel_size)), options_(std::move(options)) {
  take_options(options_);
  Conv2DLayer::fields_changed();
}

void Conv2DLayer::visit_fields(FieldVisitor& visitor) {
  Layer::visit_fields(visitor);
  visitor.field("filters", filters_);
  visitor.field("kernel_size", kernel_size_.sizes);
  visitor.field("strides", options_.strides.sizes);
  visitor.field("padding", options_.padding);
  visitor.field("data_format", options_.data_format);
  visitor.field("dilation_rate", options_.dilation_rate.sizes);
  visitor.field("groups", options_.groups);
  visitor.field("activation", options_.activation);
  visitor.field("use_bias", options_.use_bias);
  visitor.field("kernel_initializer", options_.kernel_initializer);
  visitor.field("bias_initializer", options_.bias_initializer);
  visitor.field("kernel_regularizer", options_.kernel_regularizer);
  visitor.field("bias_regularizer", options_.bias_regularizer);
  visitor.field("activity_regularizer", options_.activity_regularizer);
  visitor.field("kernel_constraint", options_.kernel_constraint);
  visitor.field("bias_constraint", options_.bias_constraint);
}

void Conv2DLayer::fields_changed() {
  const std::string who = class_name();
  kernel_size_.standardize(who, "kernel_size", 2);
  options_.strides.standardize(who, "strides", 2);
  options_.dilation_rate.standardize(who, "dilation_rate", 2);
  check_data_format(*this, options_.data_format);
  if (options_.padding != "valid" && options_.padding != "same") {
    throw invalid_argument(who, "padding must be 'valid' or 'same'", {{"padding", "'" + options_.padding + "'"}});
  }
  if (filters_ <= 0 || options_.groups <= 0 || filters_ % options_.groups != 0) {
    throw invalid_argument(who, "filters must be positive and divisible by groups",
                           {{"filters", filters_}, {"groups", options_.groups}});
  }
  const auto above_one = [](const Window& window) {
    return std::any_of(window.sizes.begin(), window.sizes.end(), [](std::int64_t size) { return size > 1; });
  };
  if (above_one(options_.strides) && above_one(options_.dilation_rate)) {
    throw invalid_argument(who, "strides and dilation_rate cannot both be above 1");
  }
  activity_regularizer_ = options_.activity_regularizer;
}

void Conv2DLayer::build(const Shape& input) {
  const bool last = options_.data_format == "channels_last";
  check_rank(*this, input, 4, last ? "(batch, height, width, channels)" : "(batch, channels, height, width)",
             "Add a Reshape layer before it.");
  const std::int64_t channels = input[last ? 3 : 1];
  if (channels == kUnknown || channels % options_.groups != 0) {
    throw invalid_argument(title(*this), "the number of channels must be known and divisible by groups",
                           {{"input.shape", input}, {"groups", options_.groups}});
  }
  kernel_ = add_weight("kernel", {kernel_size_.sizes[0], kernel_size_.sizes[1], channels / options_.groups, filters_},
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

Tensor Conv2DLayer::convolve(const Tensor& input) const {
  const ops::ConvOptions options = {options_.strides.sizes, options_.padding, options_.dilation_rate.sizes};
  if (options_.groups == 1) return ops::conv2d(input, kernel_, options);
  const auto groups = static_cast<int>(options_.groups);
  const Tensors inputs = ops::split(input, groups, -1), kernels = ops::split(kernel_, groups, -1);
  Tensors outputs;
  for (std::size_t i = 0; i < inputs.size(); ++i) outputs.push_back(ops::conv2d(inputs[i], kernels[i], options));
  return ops::concatenate(outputs, -1);
}

Tensor Conv2DLayer::call(const Tensor& input, const CallContext&) {
  const bool last = options_.data_format == "channels_last";
  check_rank(*this, input.shape(), 4, last ? "(batch, height, width, channels)" : "(batch, channels, height, width)",
             "Add a Reshape layer before it.");
  const Tensor image = ops::cast(last ? input : ops::transpose(input, {0, 2, 3, 1}), compute_dtype());
  Tensor output = convolve(image);
  if (options_.use_bias) output = output + bias_;
  if (!last) output = ops::transpose(output, {0, 3, 1, 2});
  return options_.activation ? (*options_.activation)(output) : output;
}

namespace {

[[maybe_unused]] const bool registered =
    Layer::registry().add("Conv2D", [] { return std::make_shared<Conv2DLayer>(); });

}  // namespace
}  // namespace cohort::layers
