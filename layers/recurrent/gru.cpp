#include "cohort/layers/recurrent/gru.h"

#include "cohort/ops/creation.h"
#include "cohort/ops/recurrent.h"
#include "cohort/ops/slicing.h"

namespace cohort::layers {

GRULayer::GRULayer(std::int64_t units, const GRUOptions& options)
    : BuiltinRnn(
          std::make_shared<GRUCellLayer>(units, builtin_rnn_cell_options(options, "gru_cell"), options.reset_after),
          options) {}

const GRUCellLayer& GRULayer::own_cell() const { return static_cast<const GRUCellLayer&>(*cell()); }

bool GRULayer::suits_op() const {
  return own_cell().reset_after() && own_cell().options().recurrent_activation->class_name() == "sigmoid";
}

Tensors GRULayer::run_op_over(const Tensor& inputs, const Tensors& initial, const Tensor& mask) const {
  const GRUCellLayer& cell = own_cell();
  Tensor input_bias, state_bias;
  if (cell.options().use_bias) {
    const Tensor bias = cell.bias();
    input_bias = ops::take_at(bias, 0);
    state_bias = ops::take_at(bias, 1);
  } else {
    state_bias = ops::zeros({3 * cell.units()}, inputs.dtype());
  }
  const ops::RecurrentStates states = ops::gru(projected(inputs, input_bias), initial[0], cell.recurrent_kernel(),
                                               state_bias, {.mask = mask, .reverse = settings().go_backwards});
  return {states.h, states.last};
}

COHORT_REGISTER(Layer, GRULayer, "GRU");

GRU::GRU(std::int64_t units, GRUOptions options) : RnnHandle<GRULayer>(std::make_shared<GRULayer>(units, options)) {}

}  // namespace cohort::layers
