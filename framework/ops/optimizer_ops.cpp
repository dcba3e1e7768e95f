// The updates of the built-in optimizers, each one op over any number of variables.
//
// Inputs stand in groups: all variables, then each kind of slot, then the gradients, `count` of each, then what all
// variables share. So the inputs of Adam over two variables are
//   [var_0, var_1, momentum_0, momentum_1, velocity_0, velocity_1, gradient_0, gradient_1, learning_rate, iterations]
// with count = 2 and groups = 4. A pass joins single updates that share their other attributes and inputs.
// With `squares` one more group follows the gradients: their squares, where these are more than the square of the
// gradient. As in Keras, slices of one row are squared apart and then added up. In AdamaxUpdate these are magnitudes.
// With `factored` the last two kinds of slots are means of a matrix's rows and columns: their shapes lack an axis.
// The learning rate is a float32 scalar, iterations (updates done before this one) an int64 scalar.

#include <utility>
#include <vector>

#include "cohort/core/op.h"

namespace cohort {
namespace {

// What all variables of an update share, in order.
using Shared = std::vector<std::pair<const char*, DType>>;

// Kernels trust these numbers with memory: they are exact, as graphs also come from elsewhere.
Specs check_update(const OpCall& call, int wanted_groups, const Shared& shared) {
  const int count = call.attr<int>("count"), groups = call.attr<int>("groups");
  call.check(groups == wanted_groups, "another number of groups is expected",
             {{"groups", groups}, {"expected", wanted_groups}});
  const int num_shared = static_cast<int>(shared.size());
  call.check(count > 0 && call.num_inputs() >= num_shared && (call.num_inputs() - num_shared) % groups == 0 &&
                 (call.num_inputs() - num_shared) / groups == count,
             "inputs must be groups * count values and the shared ones",
             {{"inputs", call.num_inputs()}, {"groups", groups}, {"count", count}, {"shared", num_shared}});
  const int first_gradient = (groups - (call.attr<bool>("squares") ? 2 : 1)) * count;
  for (int i = 0; i < first_gradient; ++i) {
    call.check(call.dtype(i) == DType::Resource, "variables and slots must come before gradients",
               {{"input", i}, {"dtype", call.dtype(i)}});
  }
  for (int i = first_gradient; i < groups * count; ++i) {
    call.check(is_floating(call.dtype(i)) && call.dtype(i) == call.dtype(first_gradient),
               "gradients must be floating and of one type", {{"input", i}, {"dtype", call.dtype(i)}});
    const Shape& gradient = call.shape(first_gradient + (i - first_gradient) % count);
    call.check(!call.has_attr("factored") || !call.attr<bool>("factored") || gradient.rank() >= 2,
               "gradients of a factored update must have at least 2 axes", {{"gradient.shape", gradient}});
    call.check(!call.has_attr("ns_steps") || gradient.rank() == 2, "gradients must be matrices",
               {{"gradient.shape", gradient}});
    call.check(call.shape(i).compatible(gradient), "squares must have the shapes of the gradients",
               {{"squares", call.spec(i)}, {"gradient.shape", gradient}});
  }
  for (int i = 0; i < num_shared; ++i) {
    const auto& [name, dtype] = shared[static_cast<std::size_t>(i)];
    const TensorSpec& given = call.spec(groups * count + i);
    call.check(given.dtype == dtype && given.shape.rank() == 0,
               std::string(name) + " must be a scalar of type " + to_string(dtype), {{name, given}});
  }
  return {};
}

const std::pair<const char*, DType> kRate{"learning_rate", DType::Float32}, kIterations{"iterations", DType::Int64},
    kProduct{"product", DType::Float32};

// An update of `groups` values for each variable, as its comment lists them, and as many more as `optional` counts for
// the call's options. `options` are its attributes beside those every update has.
bool define_update(
    std::string name, int groups, const Shared& shared, const Attributes& options,
    int (*optional)(const OpCall&) = [](const OpCall&) { return 0; }) {
  OpDef& op = register_op(std::move(name));
  op.inputs(groups + static_cast<int>(shared.size()), -1);
  op.attr("count", 1).attr("groups", groups).attr("weight_decay", 0.0).attr("squares", false);
  for (const Attributes::Entry& option : options) op.attr(option.name, option.value);
  op.writes(-1)
      .infer([=](const OpCall& call) {
        return check_update(call, groups + optional(call) + (call.attr<bool>("squares") ? 1 : 0), shared);
      })
      .not_differentiable();
  return true;
}

int amsgrad_slots(const OpCall& call) { return call.attr<bool>("amsgrad") ? 1 : 0; }
int factored_slots(const OpCall& call) { return call.attr<bool>("factored") ? 2 : 0; }
int rmsprop_slots(const OpCall& call) {
  return (call.attr<double>("momentum") > 0.0 ? 1 : 0) + (call.attr<bool>("centered") ? 1 : 0);
}

[[maybe_unused]] const bool defined[] = {
    // (variable, gradient; learning_rate)
    define_update("SGDUpdate", 2, {kRate}, {}),
    // (variable, momentum, gradient; learning_rate)
    define_update("MomentumUpdate", 3, {kRate}, {{"momentum", 0.0}, {"nesterov", false}}),
    // (variable, momentum, velocity [, velocity_hat with amsgrad], gradient; learning_rate, iterations)
    define_update(
        "AdamUpdate", 4, {kRate, kIterations},
        {{"beta_1", 0.9}, {"beta_2", 0.999}, {"epsilon", 1e-7}, {"amsgrad", false}, {"learning_rate_ratio", 1.0}},
        amsgrad_slots),
    // (variable, velocity [, momentum] [, average_gradient], gradient; learning_rate)
    define_update("RMSpropUpdate", 3, {kRate},
                  {{"rho", 0.9}, {"momentum", 0.0}, {"epsilon", 1e-7}, {"centered", false}}, rmsprop_slots),
    // (variable, accumulator, gradient; learning_rate)
    define_update("AdagradUpdate", 3, {kRate}, {{"epsilon", 1e-7}}),
    // (variable, momentum, norm, gradient; learning_rate, iterations)
    define_update("AdamaxUpdate", 4, {kRate, kIterations}, {{"beta_1", 0.9}, {"beta_2", 0.999}, {"epsilon", 1e-7}}),
    // (variable, momentum, velocity, gradient; learning_rate, iterations, product of the momentum factors so far)
    define_update("NadamUpdate", 4, {kRate, kIterations, kProduct},
                  {{"beta_1", 0.9}, {"beta_2", 0.999}, {"epsilon", 1e-7}}),
    // (variable, accumulated_grad, accumulated_delta_var, gradient; learning_rate)
    define_update("AdadeltaUpdate", 4, {kRate}, {{"rho", 0.95}, {"epsilon", 1e-7}}),
    // (variable, momentum, gradient; learning_rate)
    define_update("LionUpdate", 3, {kRate}, {{"beta_1", 0.9}, {"beta_2", 0.99}}),
    // (variable, accumulator, linear, gradient; learning_rate)
    define_update("FtrlUpdate", 4, {kRate},
                  {{"learning_rate_power", -0.5},
                   {"l1_regularization_strength", 0.0},
                   {"l2_regularization_strength", 0.0},
                   {"l2_shrinkage_regularization_strength", 0.0},
                   {"beta", 0.0}}),
    // (variable, momentum, velocity, gradient; learning_rate, iterations)
    define_update("LambUpdate", 4, {kRate, kIterations}, {{"beta_1", 0.9}, {"beta_2", 0.999}, {"epsilon", 1e-7}}),
    // (variable, velocity [, row means, column means with factored], gradient; learning_rate, iterations)
    define_update("AdafactorUpdate", 3, {kRate, kIterations},
                  {{"beta_2_decay", -0.8},
                   {"epsilon_1", 1e-30},
                   {"epsilon_2", 0.001},
                   {"clip_threshold", 1.0},
                   {"factored", false}},
                  factored_slots),
    // (variable, momentum, gradient; learning_rate); ns_steps is the number of Newton-Schulz steps with a, b and c
    define_update("MuonUpdate", 3, {kRate},
                  {{"momentum", 0.95},
                   {"nesterov", true},
                   {"ns_steps", 5},
                   {"a", 3.4445},
                   {"b", -4.775},
                   {"c", 2.0315},
                   {"rate_scale", 1.0},
                   {"scale_by_size", true}}),
    // (variable, momentum, velocity, gradient; learning_rate, iterations)
    define_update("ScheduleFreeAdamWUpdate", 4, {kRate, kIterations},
                  {{"beta_1", 0.9}, {"beta_2", 0.999}, {"epsilon", 1e-8}, {"warmup_steps", 0}}),
};

}  // namespace
}  // namespace cohort
