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
  std::string padding = "valid";
  std::string data_format = {};
  // Size added at one end of each spatial axis of the output, from 0 to strides - 1. The axis then has
  // (size - 1) * strides + k + output_padding elements, k being the dilated kernel's size ('valid') or that size modulo
  // 2 ('same'). Empty: size * strides ('same') or (size - 1) * strides + max(k, strides) ('valid').
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

  // The same options in the order of the others.
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

class Conv3DTransposeLayer : public ConvTransposeLayer {
 public:
  Conv3DTransposeLayer() : Conv3DTransposeLayer(1, 1) {}
  Conv3DTransposeLayer(std::int64_t filters, Window kernel_size, const Conv3DTransposeOptions& options = {})
      : ConvTransposeLayer(3, filters, std::move(kernel_size), options) {
    Conv3DTransposeLayer::fields_changed();
  }
};

// Transposed 3-D convolution, which enlarges its input: with padding 'same' and no output_padding each spatial axis
// grows by the factor strides.
// Input (batch, depth, height, width, channels), output (batch, new_depth, new_height, new_width, filters).
//   filters: number of filters, the size of the output's channel axis.
//   kernel_size: size of the kernel along depth, height and width; one number stands for all three.
struct Conv3DTranspose : LayerHandle<Conv3DTransposeLayer> {
  Conv3DTranspose(std::int64_t filters, Window kernel_size, Conv3DTransposeOptions options = {});
};

}  // namespace cohort::layers
