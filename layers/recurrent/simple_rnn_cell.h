#pragma once

#include <string>
#include <vector>

#include "cohort/layers/recurrent/builtin_rnn_cell.h"

namespace cohort::layers {

struct SimpleRNNCellOptions {
  Ref<cohort::Activation> activation = "tanh";
  bool use_bias = true;
  Ref<Initializer> kernel_initializer = "glorot_uniform";
  Ref<Initializer> recurrent_initializer = "orthogonal";
  Ref<Initializer> bias_initializer = "zeros";
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

class SimpleRNNCellLayer : public BuiltinRnnCell {
 public:
  SimpleRNNCellLayer() : SimpleRNNCellLayer(1, SimpleRNNCellOptions()) {}
  SimpleRNNCellLayer(std::int64_t units, const SimpleRNNCellOptions& options)
      : SimpleRNNCellLayer(units, builtin_rnn_cell_options(options, options.name)) {}
  SimpleRNNCellLayer(std::int64_t units, BuiltinRnnCellOptions options) : BuiltinRnnCell(units, 1, std::move(options)) {
    SimpleRNNCellLayer::fields_changed();
  }
  std::vector<Shape> state_shapes() const override { return {{units()}}; }
  Step prepare(const Tensor& input, const CallContext& context) override;

 protected:
  bool has_recurrent_activation() const override { return false; }
  int dropout_count() const override { return 1; }
  bool drops(double rate) const override { return rate > 0.0; }
};

// One step of SimpleRNN, for RNN or a loop of one's own: h' = activation(x @ kernel + h @ recurrent_kernel + bias).
// Input (batch, features) and the state h (batch, units), output (batch, units), which is the next state too.
//   units: size of the state and of the output's last axis.
struct SimpleRNNCell : CellHandle<SimpleRNNCellLayer> {
  explicit SimpleRNNCell(std::int64_t units, SimpleRNNCellOptions options = {});
};

}  // namespace cohort::layers
