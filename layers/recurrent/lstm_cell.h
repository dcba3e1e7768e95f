#pragma once

#include <string>
#include <vector>

#include "cohort/layers/recurrent/builtin_rnn_cell.h"

namespace cohort::layers {

struct LSTMCellOptions {
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
  Ref<Constraint> kernel_constraint = {};
  Ref<Constraint> recurrent_constraint = {};
  Ref<Constraint> bias_constraint = {};
  double dropout = 0.0;
  double recurrent_dropout = 0.0;
  std::optional<std::int64_t> seed = std::nullopt;
  DTypePolicy dtype = {};
  std::string name = {};
};

class LSTMCellLayer : public BuiltinRnnCell {
 public:
  LSTMCellLayer() : LSTMCellLayer(1, LSTMCellOptions()) {}
  LSTMCellLayer(std::int64_t units, const LSTMCellOptions& options)
      : LSTMCellLayer(units, builtin_rnn_cell_options(options, options.name), options.unit_forget_bias) {}
  LSTMCellLayer(std::int64_t units, BuiltinRnnCellOptions options, bool unit_forget_bias);
  void visit_shared_fields(FieldVisitor& visitor) override;
  std::vector<Shape> state_shapes() const override { return {{units()}, {units()}}; }
  Step prepare(const Tensor& input, const CallContext& context) override;

 protected:
  Ref<Initializer> bias_initializer() const override;

 private:
  bool unit_forget_bias_;
};

// One step of LSTM, for RNN or a loop of one's own: cell(x, {h, c}) gives the output and the next states.
// Input (batch, features) and the states h and c (batch, units), output (batch, units), which is the next h too.
// The weights hold the gates in the order i, f, c, o.
//   units: size of either state and of the output's last axis.
struct LSTMCell : CellHandle<LSTMCellLayer> {
  explicit LSTMCell(std::int64_t units, LSTMCellOptions options = {});
};

// `inner` for all gates' biases but the forget gate's, the second of four, which begins at 1.
Ref<Initializer> forget_bias_initializer(Ref<Initializer> inner);

}  // namespace cohort::layers
