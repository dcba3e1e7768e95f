#pragma once

#include <string>

#include "cohort/layers/recurrent/builtin_rnn.h"
#include "cohort/layers/recurrent/simple_rnn_cell.h"

namespace cohort::layers {

struct SimpleRNNOptions {
  Ref<cohort::Activation> activation = "tanh";
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
  bool return_sequences = false;
  bool return_state = false;
  bool go_backwards = false;
  bool stateful = false;
  bool unroll = false;
  std::optional<std::int64_t> seed = std::nullopt;
  // Whether masked steps give zeros; otherwise they repeat the output of the step before.
  bool zero_output_for_mask = false;
  DTypePolicy dtype = {};
  std::string name = {};
};

class SimpleRNNLayer : public BuiltinRnn {
 public:
  explicit SimpleRNNLayer(std::int64_t units = 1, const SimpleRNNOptions& options = {});

 protected:
  bool writes_seed() const override { return false; }
  bool suits_op() const override;
  Tensors run_op_over(const Tensor& inputs, const Tensors& initial, const Tensor& mask) const override;

 private:
  const SimpleRNNCellLayer& own_cell() const;
};

// Plain recurrent layer: h = activation(x @ kernel + h @ recurrent_kernel + bias) at each step.
// Input (batch, steps, features), output (batch, units), or (batch, steps, units) with return_sequences; with
// return_state followed by the state (batch, units), from with_states().
//   units: size of the state and of the output's last axis.
struct SimpleRNN : RnnHandle<SimpleRNNLayer> {
  explicit SimpleRNN(std::int64_t units, SimpleRNNOptions options = {});
};

}  // namespace cohort::layers
