#include "cohort/layers/recurrent/gru_cell.h"

#include "cohort/ops/joining.h"
#include "cohort/ops/math.h"
#include "cohort/ops/matmul.h"
#include "cohort/ops/slicing.h"

namespace cohort::layers {

GRUCellLayer::GRUCellLayer(std::int64_t units, BuiltinRnnCellOptions options, bool reset_after)
    : BuiltinRnnCell(units, 3, std::move(options)), reset_after_(reset_after) {
  GRUCellLayer::fields_changed();
}

void GRUCellLayer::visit_shared_fields(FieldVisitor& visitor) {
  BuiltinRnnCell::visit_shared_fields(visitor);
  visitor.field("reset_after", reset_after_);
}

RnnCell::Step GRUCellLayer::prepare(const Tensor& input, const CallContext& context) {
  const CellDropout draw = draw_dropout(input, context.training);
  Tensor input_bias, state_bias;
  if (options().use_bias) {
    const Tensor bias = this->bias();
    input_bias = reset_after_ ? ops::take_at(bias, 0) : bias;
    if (reset_after_) state_bias = ops::take_at(bias, 1);
  }
  // One product for all gates, unless each of them drops other inputs; without reset_after the last gate's product
  // waits for the reset gate.
  const bool inputs_apart = draw.input.size() > 1, states_apart = draw.recurrent.size() > 1 || !reset_after_;
  const Tensors kernels = inputs_apart ? ops::split(kernel(), 3, 1) : Tensors{kernel()};
  const Tensors state_kernels = states_apart ? ops::split(recurrent_kernel(), 3, 1) : Tensors{recurrent_kernel()};
  return [=, reset_after = reset_after_, activation = options().activation,
          recurrent_activation = options().recurrent_activation](const Tensor& x, const Tensors& states) -> StepResult {
    const Tensor& h = states[0];
    const auto state_product = [&](std::size_t gate, const Tensor& state) {
      return ops::matmul(dropped(state, draw.recurrent, gate), state_kernels[gate]);
    };
    Tensors products;
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      products.push_back(ops::matmul(dropped(x, draw.input, i), kernels[i]));
    }
    Tensor from_input = inputs_apart ? ops::concatenate(products, -1) : products[0];
    if (input_bias.defined()) from_input = from_input + input_bias;
    const Tensors inputs = ops::split(from_input, 3, -1);

    if (!reset_after) {
      const Tensor z = (*recurrent_activation)(inputs[0] + state_product(0, h));
      const Tensor r = (*recurrent_activation)(inputs[1] + state_product(1, h));
      const Tensor candidate = (*activation)(inputs[2] + state_product(2, r * h));
      const Tensor next = z * h + (1.0 - z) * candidate;
      return {next, {next}};
    }
    Tensor from_state = states_apart
                            ? ops::concatenate({state_product(0, h), state_product(1, h), state_product(2, h)}, -1)
                            : state_product(0, h);
    if (state_bias.defined()) from_state = from_state + state_bias;
    const Tensors inner = ops::split(from_state, 3, -1);
    const Tensor z = (*recurrent_activation)(inputs[0] + inner[0]);
    const Tensor r = (*recurrent_activation)(inputs[1] + inner[1]);
    const Tensor candidate = (*activation)(inputs[2] + r * inner[2]);
    const Tensor next = z * h + (1.0 - z) * candidate;
    return {next, {next}};
  };
}

COHORT_REGISTER(Layer, GRUCellLayer, "GRUCell");

GRUCell::GRUCell(std::int64_t units, GRUCellOptions options)
    : CellHandle<GRUCellLayer>(std::make_shared<GRUCellLayer>(units, options)) {}

}  // namespace cohort::layers
