#pragma once

#include <string>
#include <vector>

#include "cohort/layers/recurrent/builtin_rnn_cell.h"

namespace cohort::layers {

struct GRUCellOptions {
  Ref<cohort::Activation> activation = "tanh";
  Ref<cohort::Activation> recurrent_activation = "sigmoid";
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
  bool reset_after = true;
  std::optional<std::int64_t> seed = std::nullopt;
  DTypePolicy dtype = {};
  std::string name = {};
};

class GRUCellLayer : public BuiltinRnnCell {
 public:
  GRUCellLayer() : GRUCellLayer(1, GRUCellOptions()) {}
  GRUCellLayer(std::int64_t units, const GRUCellOptions& options)
      : GRUCellLayer(units, builtin_rnn_cell_options(options, options.name), options.reset_after) {}
  GRUCellLayer(std::int64_t units, BuiltinRnnCellOptions options, bool reset_after);
  void visit_shared_fields(FieldVisitor& visitor) override;
  std::vector<Shape> state_shapes() const override { return {{units()}}; }
  Step prepare(const Tensor& input, const CallContext& context) override;
  // Whether the reset gate acts on the state's product with the kernel, not on the state.
  bool reset_after() const { return reset_after_; }

 protected:
  Shape bias_shape() const override { return reset_after_ ? Shape{2, 3 * units()} : Shape{3 * units()}; }

 private:
  bool reset_after_;
};

// One step of GRU, for RNN or a loop of one's own: cell(x, {h}) gives the output and the next state.
// Input (batch, features) and the state h (batch, units), output (batch, units), which is the next state too.
// The weights hold the gates in the order z, r, h; with reset_after the bias is (2, 3 * units), one row for the inputs
// and one for the state.
//   units: size of the state and of the output's last axis.
struct GRUCell : CellHandle<GRUCellLayer> {
  explicit GRUCell(std::int64_t units, GRUCellOptions options = {});
};

}  // namespace cohort::layers
