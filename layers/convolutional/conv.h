#pragma once

#include <cstdint>
#include <string>

#include "cohort/layers/convolutional/window.h"
#include "cohort/model/layer/activation.h"
#include "cohort/model/layer/layer.h"

namespace cohort::layers {

struct ConvOptions {
  Window strides = 1;
  // 'valid' or 'same'; Conv1D also takes 'causal', zeros before the first step only, so that no output sees later
  // steps.
  std::string padding = "valid";
  std::string data_format = {};
  Window dilation_rate = 1;
  std::int64_t groups = 1;
  Ref<cohort::Activation> activation = "linear";
  bool use_bias = true;
  Ref<Initializer> kernel_initializer = "glorot_uniform";
  Ref<Initializer> bias_initializer = "zeros";
  Ref<Regularizer> kernel_regularizer = {};
  Ref<Regularizer> bias_regularizer = {};
  Ref<Regularizer> activity_regularizer = {};
  Ref<Constraint> kernel_constraint = {};
  Ref<Constraint> bias_constraint = {};
  DTypePolicy dtype = {};
  std::string name = {};
};
COHORT_FIELDS(ConvOptions, strides, padding, data_format, dilation_rate, groups, activation, use_bias,
              kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer, activity_regularizer,
              kernel_constraint, bias_constraint)

// Convolution over `rank` spatial axes: (batch, spatial axes, channels) to (batch, new spatial axes, filters).
class ConvLayer : public Layer {
 public:
  ConvLayer(int rank, std::int64_t filters, Window kernel_size, ConvOptions options);
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  void build(const Shape& input) override;
  Tensor call(const Tensor& input, const CallContext& context) override;

 private:
  int rank_;
  std::int64_t filters_;
  Window kernel_size_;
  ConvOptions options_;
  Variable kernel_, bias_;
};

}  // namespace cohort::layers
