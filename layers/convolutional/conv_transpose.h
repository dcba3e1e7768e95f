#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cohort/layers/convolutional/window.h"
#include "cohort/model/layer/activation.h"
#include "cohort/model/layer/layer.h"

namespace cohort::layers {

struct ConvTransposeOptions {
  Window strides = 1;
  std::string padding = "valid";
  // Size added at one end of each spatial axis of the output, from 0 to strides - 1. The axis then has
  // (size - 1) * strides + k + output_padding elements, k being the dilated kernel's size ('valid') or that size modulo
  // 2 ('same'). Empty: size * strides ('same') or (size - 1) * strides + max(k, strides) ('valid').
  std::optional<Window> output_padding = {};
  std::string data_format = {};
  Window dilation_rate = 1;
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
COHORT_FIELDS(ConvTransposeOptions, strides, padding, output_padding, data_format, dilation_rate, activation, use_bias,
              kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer, activity_regularizer,
              kernel_constraint, bias_constraint)

// The transpose of a convolution over `rank` spatial axes, which makes an image larger: (batch, spatial axes, channels)
// to (batch, new spatial axes, filters).
class ConvTransposeLayer : public Layer {
 public:
  ConvTransposeLayer(int rank, std::int64_t filters, Window kernel_size, ConvTransposeOptions options);
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  void build(const Shape& input) override;
  Tensor call(const Tensor& input, const CallContext& context) override;

 private:
  int rank_;
  std::int64_t filters_;
  Window kernel_size_;
  ConvTransposeOptions options_;
  Variable kernel_, bias_;
};

}  // namespace cohort::layers
