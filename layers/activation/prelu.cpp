#include "cohort/layers/activation/prelu.h"

#include "cohort/ops/math.h"

namespace cohort::layers {

PReLULayer::PReLULayer(PReLUOptions options) : options_(std::move(options)) {
  supports_masking_ = true;
  take_options(options_);
}

void PReLULayer::visit_fields(FieldVisitor& visitor) {
  Layer::visit_fields(visitor);
  visit_options(options_, visitor);
}

void PReLULayer::build(const Shape& input) {
  Shape shape = input.slice(1);
  for (std::int64_t axis : options_.shared_axes.value_or(std::vector<std::int64_t>{})) {
    if (axis < 1 || axis >= input.rank()) {
      throw invalid_argument(title(), "shared_axes count from 1, after the batch",
                             {{"axis", axis}, {"input.shape", input}});
    }
    shape[static_cast<int>(axis) - 1] = 1;
  }
  alpha_ = add_weight("alpha", shape,
                      {.initializer = options_.alpha_initializer,
                       .dtype = dtype(),
                       .regularizer = options_.alpha_regularizer,
                       .constraint = options_.alpha_constraint});
}

Tensor PReLULayer::call(const Tensor& input, const CallContext&) {
  return ops::relu(input) - alpha_ * ops::relu(-input);
}

COHORT_REGISTER(Layer, PReLULayer, "PReLU");

PReLU::PReLU(PReLUOptions options) : LayerHandle<PReLULayer>(std::make_shared<PReLULayer>(std::move(options))) {}

}  // namespace cohort::layers
