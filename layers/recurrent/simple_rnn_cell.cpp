#include "cohort/layers/recurrent/simple_rnn_cell.h"

#include "cohort/ops/math.h"
#include "cohort/ops/matmul.h"

namespace cohort::layers {

RnnCell::Step SimpleRNNCellLayer::prepare(const Tensor& input, const CallContext& context) {
  const Tensor kernel = this->kernel(), recurrent_kernel = this->recurrent_kernel();
  const Tensor bias = options().use_bias ? this->bias().value() : Tensor();
  return [=, draw = draw_dropout(input, context.training), activation = options().activation](
             const Tensor& x, const Tensors& states) -> StepResult {
    Tensor sum = ops::matmul(dropped(x, draw.input), kernel);
    if (bias.defined()) sum = sum + bias;
    const Tensor output = (*activation)(sum + ops::matmul(dropped(states[0], draw.recurrent), recurrent_kernel));
    return {output, {output}};
  };
}

COHORT_REGISTER(Layer, SimpleRNNCellLayer, "SimpleRNNCell");

SimpleRNNCell::SimpleRNNCell(std::int64_t units, SimpleRNNCellOptions options)
    : CellHandle<SimpleRNNCellLayer>(std::make_shared<SimpleRNNCellLayer>(units, options)) {}

}  // namespace cohort::layers
