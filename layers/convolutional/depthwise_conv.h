#pragma once

#include <cstdint>
#include <string>

#include "cohort/layers/convolutional/window.h"
#include "cohort/model/layer/activation.h"
#include "cohort/model/layer/layer.h"

namespace cohort::layers {

struct DepthwiseConvOptions {
  Window strides = 1;
  std::string padding = "valid";
  std::int64_t depth_multiplier = 1;  // Number of filters, and of output channels, for each input channel.
  std::string data_format = {};
  Window dilation_rate = 1;
  Ref<cohort::Activation> activation = "linear";
  bool use_bias = true;
  Ref<Initializer> depthwise_initializer = "glorot_uniform";
  Ref<Initializer> bias_initializer = "zeros";
  Ref<Regularizer> depthwise_regularizer = {};
  Ref<Regularizer> bias_regularizer = {};
  Ref<Regularizer> activity_regularizer = {};
  Ref<Constraint> depthwise_constraint = {};
  Ref<Constraint> bias_constraint = {};
  DTypePolicy dtype = {};
  std::string name = {};
};
COHORT_FIELDS(DepthwiseConvOptions, strides, padding, data_format, dilation_rate, activation, use_bias,
              depthwise_initializer, bias_initializer, depthwise_regularizer, bias_regularizer, activity_regularizer,
              depthwise_constraint, bias_constraint)

// Convolution of each channel by itself, over `rank` spatial axes: (batch, spatial axes, channels) to (batch, new
// spatial axes, channels * depth_multiplier).
class DepthwiseConvLayer : public Layer {
 public:
  DepthwiseConvLayer(int rank, Window kernel_size, DepthwiseConvOptions options);
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  void build(const Shape& input) override;
  Tensor call(const Tensor& input, const CallContext& context) override;

 private:
  int rank_;
  Window kernel_size_;
  DepthwiseConvOptions options_;
  Variable kernel_, bias_;
};

}  // namespace cohort::layers
