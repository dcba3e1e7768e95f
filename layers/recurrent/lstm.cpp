#include "cohort/layers/recurrent/lstm.h"

#include "cohort/ops/recurrent.h"

namespace cohort::layers {

LSTMLayer::LSTMLayer(std::int64_t units, const LSTMOptions& options)
    : BuiltinRnn(std::make_shared<LSTMCellLayer>(units, builtin_rnn_cell_options(options, "lstm_cell"),
                                                 options.unit_forget_bias),
                 options) {}

const LSTMCellLayer& LSTMLayer::own_cell() const { return static_cast<const LSTMCellLayer&>(*cell()); }

bool LSTMLayer::suits_op() const { return own_cell().options().recurrent_activation->class_name() == "sigmoid"; }

Tensors LSTMLayer::run_op_over(const Tensor& inputs, const Tensors& initial, const Tensor& mask) const {
  const LSTMCellLayer& cell = own_cell();
  const Tensor bias = cell.options().use_bias ? cell.bias().value() : Tensor();
  const ops::LstmStates states = ops::lstm(projected(inputs, bias), initial[0], initial[1], cell.recurrent_kernel(),
                                           {.mask = mask, .reverse = settings().go_backwards});
  return {states.h, states.last_h, states.last_c};
}

COHORT_REGISTER(Layer, LSTMLayer, "LSTM");

LSTM::LSTM(std::int64_t units, LSTMOptions options)
    : RnnHandle<LSTMLayer>(std::make_shared<LSTMLayer>(units, options)) {}

}  // namespace cohort::layers
