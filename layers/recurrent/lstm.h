#pragma once

#include <string>

#include "cohort/layers/recurrent/builtin_rnn.h"
#include "cohort/layers/recurrent/lstm_cell.h"

namespace cohort::layers {

struct LSTMOptions {
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
  // Whether one fused operation computes the whole sequence. True: throws where that is impossible; false: step by
  // step; none: fused where possible (default activations, float32 or float64, no recurrent_dropout in training, no
  // unroll).
  std::optional<bool> use_cudnn = std::nullopt;
  // Whether masked steps give zeros; otherwise they repeat the output of the step before.
  bool zero_output_for_mask = false;
  DTypePolicy dtype = {};
  std::string name = {};
};

class LSTMLayer : public BuiltinRnn {
 public:
  explicit LSTMLayer(std::int64_t units = 1, const LSTMOptions& options = {});

 protected:
  bool suits_op() const override;
  Tensors run_op_over(const Tensor& inputs, const Tensors& initial, const Tensor& mask) const override;

 private:
  const LSTMCellLayer& own_cell() const;
};

// Long short-term memory: input, forget and output gates around a cell state that is carried over the steps.
// Input (batch, steps, features), output (batch, units), or (batch, steps, units) with return_sequences; with
// return_state followed by the states h and c, (batch, units) each, from with_states().
//   units: size of either state and of the output's last axis.
struct LSTM : RnnHandle<LSTMLayer> {
  explicit LSTM(std::int64_t units, LSTMOptions options = {});
};

}  // namespace cohort::layers
