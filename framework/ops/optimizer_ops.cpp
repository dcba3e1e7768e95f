// The updates of the built-in optimizers, each one op over any number of variables.
//
// Inputs stand in groups: all variables, then each kind of slot, then the gradients, `count` of each, then what all
// variables share. So the inputs of Adam over two variables are
//   [var_0, var_1, momentum_0, momentum_1, velocity_0, velocity_1, gradient_0, gradient_1, learning_rate, iterations]
// with count = 2 and groups = 4. A pass joins single updates that share their other attributes and inputs.
// The learning rate is a float32 scalar, iterations (updates done before this one) an int64 scalar.

#include "cohort/core/op.h"

namespace cohort {
namespace {

Specs check_update(const OpCall& call, int shared) {
  const int count = call.attr<int>("count"), groups = call.attr<int>("groups");
  call.check(count > 0 && groups > 1 && call.num_inputs() == groups * count + shared,
             "inputs must be groups * count values and the shared ones",
             {{"inputs", call.num_inputs()}, {"groups", groups}, {"count", count}, {"shared", shared}});
  for (int i = 0; i < (groups - 1) * count; ++i) {
    call.check(call.dtype(i) == DType::Resource, "variables and slots must come before gradients",
               {{"input", i}, {"dtype", call.dtype(i)}});
  }
  for (int i = (groups - 1) * count; i < groups * count; ++i) {
    call.check(is_floating(call.dtype(i)) && call.dtype(i) == call.dtype((groups - 1) * count),
               "gradients must be floating and of one type", {{"input", i}, {"dtype", call.dtype(i)}});
  }
  call.check(call.dtype(groups * count) == DType::Float32 && call.rank(groups * count) == 0,
             "the learning rate must be a float32 scalar", {{"learning_rate", call.spec(groups * count)}});
  return {};
}

// An update of `groups` values for each variable and `shared` ones for all, as its comment lists them; `groups` is the
// least number where slots are optional. `options` are its attributes beside those every update has.
bool define_update(std::string name, int groups, int shared, const Attributes& options) {
  OpDef& op = register_op(std::move(name));
  op.inputs(groups + shared, -1).attr("count", 1).attr("groups", groups).attr("weight_decay", 0.0);
  for (const Attributes::Entry& option : options) op.attr(option.name, option.value);
  op.writes(-1).infer([shared](const OpCall& call) { return check_update(call, shared); }).not_differentiable();
  return true;
}

[[maybe_unused]] const bool defined[] = {
    // (variable, gradient; learning_rate)
    define_update("SGDUpdate", 2, 1, {}),
    // (variable, momentum, gradient; learning_rate)
    define_update("MomentumUpdate", 3, 1, {{"momentum", 0.0}, {"nesterov", false}}),
    // (variable, momentum, velocity [, velocity_hat with amsgrad], gradient; learning_rate, iterations)
    define_update("AdamUpdate", 4, 2, {{"beta_1", 0.9}, {"beta_2", 0.999}, {"epsilon", 1e-7}, {"amsgrad", false}}),
    // (variable, velocity [, momentum] [, average_gradient], gradient; learning_rate)
    define_update("RMSpropUpdate", 3, 1, {{"rho", 0.9}, {"momentum", 0.0}, {"epsilon", 1e-7}, {"centered", false}}),
    // (variable, accumulator, gradient; learning_rate)
    define_update("AdagradUpdate", 3, 1, {{"epsilon", 1e-7}}),
    // (variable, momentum, norm, gradient; learning_rate, iterations)
    define_update("AdamaxUpdate", 4, 2, {{"beta_1", 0.9}, {"beta_2", 0.999}, {"epsilon", 1e-7}}),
    // (variable, momentum, velocity, gradient; learning_rate, iterations, product of the momentum factors so far)
    define_update("NadamUpdate", 4, 3, {{"beta_1", 0.9}, {"beta_2", 0.999}, {"epsilon", 1e-7}}),
    // (variable, accumulated_grad, accumulated_delta_var, gradient; learning_rate)
    define_update("AdadeltaUpdate", 4, 1, {{"rho", 0.95}, {"epsilon", 1e-7}}),
    // (variable, momentum, gradient; learning_rate)
    define_update("LionUpdate", 3, 1, {{"beta_1", 0.9}, {"beta_2", 0.99}}),
};

}  // namespace
}  // namespace cohort
