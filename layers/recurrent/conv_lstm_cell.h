#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cohort/layers/convolutional/window.h"
#include "cohort/layers/recurrent/dropout_factors.h"
#include "cohort/layers/recurrent/rnn_cell.h"
#include "cohort/model/layer/activation.h"

namespace cohort::layers {

// The options of ConvLSTM1D, ConvLSTM2D and ConvLSTM3D.
struct ConvLSTMOptions {
  Window strides = 1;
  std::string padding = "valid";
  std::string data_format = {};
  Window dilation_rate = 1;
  Ref<cohort::Activation> activation = "tanh";
  Ref<cohort::Activation> recurrent_activation = "sigmoid";
  bool use_bias = true;
  Ref<Initializer> kernel_initializer = "glorot_uniform";
  Ref<Initializer> recurrent_initializer = "orthogonal";
  Ref<Initializer> bias_initializer = "zeros";
  bool unit_forget_bias = true;
  Ref<Regularizer> kernel_regularizer = {};
  Ref<Regularizer> recurrent_regularizer = {};
  Ref<Regularizer> bias_regularizer = {};
  Ref<Regularizer> activity_regularizer = {};
  Ref<Constraint> kernel_constraint = {};
  Ref<Constraint> recurrent_constraint = {};
  Ref<Constraint> bias_constraint = {};
  double dropout = 0.0;
  double recurrent_dropout = 0.0;
  std::optional<std::int64_t> seed = std::nullopt;
  bool return_sequences = false;
  bool return_state = false;
  bool go_backwards = false;
  bool stateful = false;
  bool unroll = false;
  // Whether masked steps give zeros; otherwise they repeat the output of the step before.
  bool zero_output_for_mask = false;
  DTypePolicy dtype = {};
  std::string name = {};
};
COHORT_FIELDS(ConvLSTMOptions, strides, padding, data_format, dilation_rate, activation, recurrent_activation, use_bias,
              kernel_initializer, recurrent_initializer, bias_initializer, unit_forget_bias, kernel_regularizer,
              recurrent_regularizer, bias_regularizer, activity_regularizer, kernel_constraint, recurrent_constraint,
              bias_constraint, dropout, recurrent_dropout, seed)

// A step of a convolutional LSTM over `rank` spatial axes: (batch, spatial axes, channels) and the states h and c to
// (batch, new spatial axes, filters).
class ConvLSTMCellLayer : public RnnCell {
 public:
  ConvLSTMCellLayer(int rank, std::int64_t filters, Window kernel_size, ConvLSTMOptions options);
  std::string class_name() const override { return "ConvLSTMCell"; }
  // The fields of the cell that stand in the layer's config.
  void visit_shared_fields(FieldVisitor& visitor);
  void fields_changed() override;
  void build(const Shape& input) override;
  std::vector<Shape> state_shapes() const override { return {state_, state_}; }
  Step prepare(const Tensor& input, const CallContext& context) override;
  const ConvLSTMOptions& options() const { return options_; }

 private:
  bool channels_last() const { return options_.data_format == "channels_last"; }
  int rank_;
  std::int64_t filters_;
  Window kernel_size_;
  ConvLSTMOptions options_;
  Shape state_;  // without the batch
  Variable kernel_, recurrent_kernel_, bias_;
  DropoutFactors factors_;
};

}  // namespace cohort::layers
