#pragma once

#include <string>

#include "cohort/layers/recurrent/builtin_rnn.h"
#include "cohort/layers/recurrent/gru_cell.h"

namespace cohort::layers {

struct GRUOptions {
  Ref<cohort::Activation> activation = "tanh";
  Ref<cohort::Activation> recurrent_activation = "sigmoid";
  bool use_bias = true;
  Ref<Initializer> kernel_initializer = "glorot_uniform";
  Ref<Initializer> recurrent_initializer = "orthogonal";
  Ref<Initializer> bias_initializer = "zeros";
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
  bool reset_after = true;
  // Whether one fused operation computes the whole sequence. True: throws where that is impossible; false: step by
  // step; none: fused where possible (default activations, float32 or float64, no recurrent_dropout in training, no
  // unroll, reset_after).
  std::optional<bool> use_cudnn = std::nullopt;
  // Whether masked steps give zeros; otherwise they repeat the output of the step before.
  bool zero_output_for_mask = false;
  DTypePolicy dtype = {};
  std::string name = {};
};

class GRULayer : public BuiltinRnn {
 public:
  explicit GRULayer(std::int64_t units = 1, const GRUOptions& options = {});

 protected:
  bool suits_op() const override;
  Tensors run_op_over(const Tensor& inputs, const Tensors& initial, const Tensor& mask) const override;

 private:
  const GRUCellLayer& own_cell() const;
};

// Gated recurrent unit: an update gate and a reset gate decide how much of the state each step replaces.
// Input (batch, steps, features), output (batch, units), or (batch, steps, units) with return_sequences; with
// return_state followed by the state (batch, units), from with_states().
//   units: size of the state and of the output's last axis.
struct GRU : RnnHandle<GRULayer> {
  explicit GRU(std::int64_t units, GRUOptions options = {});
};

}  // namespace cohort::layers
