#include "cohort/layers/recurrent/simple_rnn.h"

#include "cohort/ops/recurrent.h"

namespace cohort::layers {

SimpleRNNLayer::SimpleRNNLayer(std::int64_t units, const SimpleRNNOptions& options)
    : BuiltinRnn(std::make_shared<SimpleRNNCellLayer>(units, builtin_rnn_cell_options(options, "simple_rnn_cell")),
                 options) {}

const SimpleRNNCellLayer& SimpleRNNLayer::own_cell() const { return static_cast<const SimpleRNNCellLayer&>(*cell()); }

bool SimpleRNNLayer::suits_op() const { return true; }

Tensors SimpleRNNLayer::run_op_over(const Tensor& inputs, const Tensors& initial, const Tensor& mask) const {
  const SimpleRNNCellLayer& cell = own_cell();
  const Tensor bias = cell.options().use_bias ? cell.bias().value() : Tensor();
  const ops::RecurrentStates states = ops::simple_rnn(projected(inputs, bias), initial[0], cell.recurrent_kernel(),
                                                      {.mask = mask, .reverse = settings().go_backwards});
  return {states.h, states.last};
}

COHORT_REGISTER(Layer, SimpleRNNLayer, "SimpleRNN");

SimpleRNN::SimpleRNN(std::int64_t units, SimpleRNNOptions options)
    : RnnHandle<SimpleRNNLayer>(std::make_shared<SimpleRNNLayer>(units, options)) {}

}  // namespace cohort::layers
