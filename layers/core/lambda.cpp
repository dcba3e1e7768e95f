#include "cohort/layers/core/lambda.h"

#include <optional>

namespace cohort::layers {

LambdaLayer::LambdaLayer(Ref<TensorFunction> function, NameOption options) : function_(std::move(function)) {
  take_options(options);
}

void LambdaLayer::visit_fields(FieldVisitor& visitor) {
  Layer::visit_fields(visitor);
  if (!visitor.reads_config() && function_ && function_->name().empty()) {
    throw failed_precondition(title(), "only a registered function can be saved", {},
                              "Register it with COHORT_REGISTER_FUNCTION and give its name to Lambda.");
  }
  visitor.field("function", function_);
  std::vector<std::string> none;  // further arguments are bound in C++
  visitor.field("arguments", none);
  std::optional<Shape> output_shape;  // inferred
  if (visitor.reads_config()) visitor.field("output_shape", output_shape);
}

Element LambdaLayer::call_element(const Element& inputs, const CallContext&) {
  if (!function_) throw failed_precondition(title(), "a function must be given");
  return (*function_)(inputs.flatten());
}

COHORT_REGISTER(Layer, LambdaLayer, "Lambda");

Lambda::Lambda(Ref<TensorFunction> function, NameOption options)
    : LayerHandle<LambdaLayer>(std::make_shared<LambdaLayer>(std::move(function), std::move(options))) {}

}  // namespace cohort::layers
