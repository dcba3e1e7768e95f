#pragma once

#include <cstdint>
#include <string>

#include "cohort/layers/convolutional/window.h"
#include "cohort/model/activation.h"
#include "cohort/model/layer.h"

namespace cohort::layers {

struct Conv2DOptions {
  Window strides = 1;
  std::string padding = "valid";  // or "same"
  std::string data_format = {};   // "channels_last" when left out, or "channels_first"
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

// 2-D convolution: (batch, height, width, channels) to (batch, new height, new width, filters).
class Conv2DLayer : public Layer {
 public:
  Conv2DLayer() : Conv2DLayer(1, 1) {}
  Conv2DLayer(std::int64_t filters, Window kernel_size, Conv2DOptions options = {});
  std::string class_name() const override { return "Conv2D"; }
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  void build(const Shape& input) override;
  Tensor call(const Tensor& input, const CallContext& context) override;

 private:
  Tensor convolve(const Tensor& input) const;
  std::int64_t filters_;
  Window kernel_size_;
  Conv2DOptions options_;
  Variable kernel_, bias_;
};

struct Conv2D : LayerHandle<Conv2DLayer> {
  Conv2D(std::int64_t filters, Window kernel_size, Conv2DOptions options = {})
      : LayerHandle<Conv2DLayer>(std::make_shared<Conv2DLayer>(filters, std::move(kernel_size), std::move(options))) {}
};

}  // namespace cohort::layers
