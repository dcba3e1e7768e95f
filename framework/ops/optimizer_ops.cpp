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

template <int kShared>
Specs check_update(const OpCall& call) {
  const int count = call.attr<int>("count"), groups = call.attr<int>("groups");
  call.check(count > 0 && groups > 1 && call.num_inputs() == groups * count + kShared,
             "inputs must be groups * count values and the shared ones",
             {{"inputs", call.num_inputs()}, {"groups", groups}, {"count", count}, {"shared", kShared}});
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

// (variable, gradient; learning_rate)
COHORT_OP("SGDUpdate")
    .inputs(3, -1)
    .attr("count", 1)
    .attr("groups", 2)
    .attr("weight_decay", 0.0)
    .writes(-1)
    .infer(check_update<1>)
    .not_differentiable();

// (variable, momentum, gradient; learning_rate)
COHORT_OP("MomentumUpdate")
    .inputs(4, -1)
    .attr("count", 1)
    .attr("groups", 3)
    .attr("weight_decay", 0.0)
    .attr("momentum", 0.0)
    .attr("nesterov", false)
    .writes(-1)
    .infer(check_update<1>)
    .not_differentiable();

// (variable, momentum, velocity [, velocity_hat with amsgrad], gradient; learning_rate, iterations)
COHORT_OP("AdamUpdate")
    .inputs(6, -1)
    .attr("count", 1)
    .attr("groups", 4)
    .attr("weight_decay", 0.0)
    .attr("beta_1", 0.9)
    .attr("beta_2", 0.999)
    .attr("epsilon", 1e-7)
    .attr("amsgrad", false)
    .writes(-1)
    .infer(check_update<2>)
    .not_differentiable();

// (variable, velocity [, momentum] [, average_gradient], gradient; learning_rate)
COHORT_OP("RMSpropUpdate")
    .inputs(4, -1)
    .attr("count", 1)
    .attr("groups", 3)
    .attr("weight_decay", 0.0)
    .attr("rho", 0.9)
    .attr("momentum", 0.0)
    .attr("epsilon", 1e-7)
    .attr("centered", false)
    .writes(-1)
    .infer(check_update<1>)
    .not_differentiable();

// (variable, accumulator, gradient; learning_rate)
COHORT_OP("AdagradUpdate")
    .inputs(4, -1)
    .attr("count", 1)
    .attr("groups", 3)
    .attr("weight_decay", 0.0)
    .attr("epsilon", 1e-7)
    .writes(-1)
    .infer(check_update<1>)
    .not_differentiable();

// (variable, momentum, norm, gradient; learning_rate, iterations)
COHORT_OP("AdamaxUpdate")
    .inputs(6, -1)
    .attr("count", 1)
    .attr("groups", 4)
    .attr("weight_decay", 0.0)
    .attr("beta_1", 0.9)
    .attr("beta_2", 0.999)
    .attr("epsilon", 1e-7)
    .writes(-1)
    .infer(check_update<2>)
    .not_differentiable();

// (variable, momentum, velocity, gradient; learning_rate, iterations, product of the momentum factors so far)
COHORT_OP("NadamUpdate")
    .inputs(7, -1)
    .attr("count", 1)
    .attr("groups", 4)
    .attr("weight_decay", 0.0)
    .attr("beta_1", 0.9)
    .attr("beta_2", 0.999)
    .attr("epsilon", 1e-7)
    .writes(-1)
    .infer(check_update<3>)
    .not_differentiable();

// (variable, accumulated_grad, accumulated_delta_var, gradient; learning_rate)
COHORT_OP("AdadeltaUpdate")
    .inputs(5, -1)
    .attr("count", 1)
    .attr("groups", 4)
    .attr("weight_decay", 0.0)
    .attr("rho", 0.95)
    .attr("epsilon", 1e-7)
    .writes(-1)
    .infer(check_update<1>)
    .not_differentiable();

// (variable, momentum, gradient; learning_rate)
COHORT_OP("LionUpdate")
    .inputs(4, -1)
    .attr("count", 1)
    .attr("groups", 3)
    .attr("weight_decay", 0.0)
    .attr("beta_1", 0.9)
    .attr("beta_2", 0.99)
    .writes(-1)
    .infer(check_update<1>)
    .not_differentiable();

}  // namespace
}  // namespace cohort
