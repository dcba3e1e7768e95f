#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "cohort/layers/convolutional/conv_transpose.h"

namespace cohort::layers {

// The same options as the others have, in the order Keras gives them here.
struct Conv3DTransposeOptions {
  Window strides = 1;
  std::string padding = "valid";  // or "same"
  std::string data_format = {};   // "channels_last" when left out, or "channels_first"
  std::optional<Window> output_padding = {};
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

  operator ConvTransposeOptions() const {
    return {strides,
            padding,
            output_padding,
            data_format,
            dilation_rate,
            activation,
            use_bias,
            kernel_initializer,
            bias_initializer,
            kernel_regularizer,
            bias_regularizer,
            activity_regularizer,
            kernel_constraint,
            bias_constraint,
            dtype,
            name};
  }
};

// Transposed 3-D convolution: (batch, depth, height, width, channels) to (batch, new depth, new height, new width,
// filters).
class Conv3DTransposeLayer : public ConvTransposeLayer {
 public:
  Conv3DTransposeLayer() : Conv3DTransposeLayer(1, 1) {}
  Conv3DTransposeLayer(std::int64_t filters, Window kernel_size, const Conv3DTransposeOptions& options = {})
      : ConvTransposeLayer(3, filters, std::move(kernel_size), options) {}
};

struct Conv3DTranspose : LayerHandle<Conv3DTransposeLayer> {
  Conv3DTranspose(std::int64_t filters, Window kernel_size, Conv3DTransposeOptions options = {})
      : LayerHandle<Conv3DTransposeLayer>(
            std::make_shared<Conv3DTransposeLayer>(filters, std::move(kernel_size), std::move(options))) {}
};

}  // namespace cohort::layers
