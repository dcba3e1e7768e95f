#include "cohort/layers/recurrent/lstm_cell.h"

#include "cohort/ops/joining.h"
#include "cohort/ops/math.h"
#include "cohort/ops/matmul.h"

namespace cohort::layers {
namespace {

class ForgetBiasInitializer : public Initializer {
 public:
  explicit ForgetBiasInitializer(Ref<Initializer> inner) : inner_(std::move(inner)) {}
  std::string class_name() const override { return "ForgetBias"; }
  void visit_fields(FieldVisitor& visitor) override { visitor.field("inner", inner_); }
  Tensor operator()(const Shape& shape, DType dtype) const override {
    const std::int64_t units = shape[0] / 4;
    return ops::concatenate(
        {(*inner_)({units}, dtype), Tensor::full({units}, 1.0, dtype), (*inner_)({2 * units}, dtype)}, 0);
  }

 private:
  Ref<Initializer> inner_;
};

}  // namespace

Ref<Initializer> forget_bias_initializer(Ref<Initializer> inner) {
  if (!inner) inner = "zeros";
  return Ref<Initializer>(std::make_shared<ForgetBiasInitializer>(std::move(inner)));
}

LSTMCellLayer::LSTMCellLayer(std::int64_t units, BuiltinRnnCellOptions options, bool unit_forget_bias)
    : BuiltinRnnCell(units, 4, std::move(options)), unit_forget_bias_(unit_forget_bias) {
  LSTMCellLayer::fields_changed();
}

void LSTMCellLayer::visit_shared_fields(FieldVisitor& visitor) {
  BuiltinRnnCell::visit_shared_fields(visitor);
  visitor.field("unit_forget_bias", unit_forget_bias_);
}

Ref<Initializer> LSTMCellLayer::bias_initializer() const {
  return unit_forget_bias_ ? forget_bias_initializer(options().bias_initializer) : options().bias_initializer;
}

RnnCell::Step LSTMCellLayer::prepare(const Tensor& input, const CallContext& context) {
  const CellDropout draw = draw_dropout(input, context.training);
  const Tensor kernel = this->kernel(), recurrent_kernel = this->recurrent_kernel();
  const Tensor bias = options().use_bias ? this->bias().value() : Tensor();
  // One product for all gates, unless each of them drops other inputs.
  const bool per_gate = draw.input.size() > 1 || draw.recurrent.size() > 1;
  const Tensors kernels = per_gate ? ops::split(kernel, 4, 1) : Tensors{kernel};
  const Tensors recurrent_kernels = per_gate ? ops::split(recurrent_kernel, 4, 1) : Tensors{recurrent_kernel};
  return [=, activation = options().activation, recurrent_activation = options().recurrent_activation](
             const Tensor& x, const Tensors& states) -> StepResult {
    Tensors sums;
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      sums.push_back(ops::matmul(dropped(x, draw.input, i), kernels[i]) +
                     ops::matmul(dropped(states[0], draw.recurrent, i), recurrent_kernels[i]));
    }
    Tensor sum = per_gate ? ops::concatenate(sums, -1) : sums[0];
    if (bias.defined()) sum = sum + bias;
    const Tensors gates = ops::split(sum, 4, -1);
    const Tensor i = (*recurrent_activation)(gates[0]), f = (*recurrent_activation)(gates[1]);
    const Tensor c = f * states[1] + i * (*activation)(gates[2]);
    const Tensor h = (*recurrent_activation)(gates[3]) * (*activation)(c);
    return {h, {h, c}};
  };
}

COHORT_REGISTER(Layer, LSTMCellLayer, "LSTMCell");

LSTMCell::LSTMCell(std::int64_t units, LSTMCellOptions options)
    : CellHandle<LSTMCellLayer>(std::make_shared<LSTMCellLayer>(units, options)) {}

}  // namespace cohort::layers
