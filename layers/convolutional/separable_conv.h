#pragma once

#include <cstdint>
#include <string>

#include "cohort/layers/convolutional/window.h"
#include "cohort/model/layer/activation.h"
#include "cohort/model/layer/layer.h"

namespace cohort::layers {

struct SeparableConvOptions {
  Window strides = 1;
  std::string padding = "valid";
  std::string data_format = {};
  Window dilation_rate = 1;
  // Number of channels the depthwise convolution makes of each input channel.
  std::int64_t depth_multiplier = 1;
  Ref<cohort::Activation> activation = "linear";
  bool use_bias = true;
  Ref<Initializer> depthwise_initializer = "glorot_uniform";
  Ref<Initializer> pointwise_initializer = "glorot_uniform";
  Ref<Initializer> bias_initializer = "zeros";
  Ref<Regularizer> depthwise_regularizer = {};
  Ref<Regularizer> pointwise_regularizer = {};
  Ref<Regularizer> bias_regularizer = {};
  Ref<Regularizer> activity_regularizer = {};
  Ref<Constraint> depthwise_constraint = {};
  Ref<Constraint> pointwise_constraint = {};
  Ref<Constraint> bias_constraint = {};
  DTypePolicy dtype = {};
  std::string name = {};
};
COHORT_FIELDS(SeparableConvOptions, strides, padding, data_format, dilation_rate, activation, use_bias,
              depthwise_initializer, pointwise_initializer, bias_initializer, depthwise_regularizer,
              pointwise_regularizer, bias_regularizer, activity_regularizer, depthwise_constraint, pointwise_constraint,
              bias_constraint)

// Convolution of each channel by itself, over `rank` spatial axes, then across channels: (batch, spatial axes,
// channels) to (batch, new spatial axes, filters).
class SeparableConvLayer : public Layer {
 public:
  SeparableConvLayer(int rank, std::int64_t filters, Window kernel_size, SeparableConvOptions options);
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  void build(const Shape& input) override;
  Tensor call(const Tensor& input, const CallContext& context) override;

 private:
  int rank_;
  std::int64_t filters_;
  Window kernel_size_;
  SeparableConvOptions options_;
  Variable depthwise_kernel_, pointwise_kernel_, bias_;
};

}  // namespace cohort::layers
