#include "cohort/optimizers/adam.h"

#include <limits>

#include "cohort/core/update_op.h"

namespace cohort::optimizers {
namespace {

// (variable, momentum, velocity [, velocity_hat with amsgrad], gradient; learning_rate, iterations)
[[maybe_unused]] const OpDef& adam_update = define_update(
    "AdamUpdate",
    {.slots = 2,
     .shared = {kLearningRate, kIterations},
     .attributes =
         {{"beta_1", 0.9}, {"beta_2", 0.999}, {"epsilon", 1e-7}, {"amsgrad", false}, {"learning_rate_ratio", 1.0}},
     .rounds = true,
     .more_slots = [](const OpCall& call) { return call.attr<bool>("amsgrad") ? 1 : 0; }});

int values_of_slices(const OpCall& call) { return call.attr<bool>("amsgrad") ? 4 : 3; }

// Kernels trust these numbers with memory: they are exact, as graphs also come from elsewhere.
Specs check_slices(const OpCall& call) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  const int values = values_of_slices(call);
  call.check(call.num_inputs() == values + 4, "another number of inputs is expected",
             {{"inputs", call.num_inputs()}, {"expected", values + 4}});
  for (int i = 0; i < values; ++i) {
    call.check(call.dtype(i) == DType::Resource, "a variable and its slots must come before values",
               {{"input", i}, {"dtype", call.dtype(i)}});
  }
  const TensorSpec &slices = call.spec(values), &indices = call.spec(values + 1);
  const std::int64_t rows = call.attr<std::int64_t>("rows");
  call.check(slices.dtype == DType::Float32 || slices.dtype == DType::Float64, "values must be float32 or float64",
             {{"values", slices}});
  call.check(is_integer(indices.dtype) && indices.shape.rank() == 1 && slices.shape.rank() > 0 &&
                 slices.shape[0] == indices.shape[0],
             "values must have a row for each index", {{"values", slices}, {"indices", indices}});
  call.check(rows >= 0 && rows <= kMost && indices.shape[0] <= kMost, "rows and indices must be fewer than 2^31",
             {{"rows", rows}, {"indices", indices}});
  call.check(
      call.spec(values + 2) == TensorSpec{DType::Float32, {}} && call.spec(values + 3) == TensorSpec{DType::Int64, {}},
      "learning_rate must be a scalar of type float32, iterations one of type int64",
      {{"learning_rate", call.spec(values + 2)}, {"iterations", call.spec(values + 3)}});
  return {};
}

VariableClaims claims_of_slices(const OpCall& call) {
  TensorSpec moved = call.spec(values_of_slices(call));
  moved.shape[0] = call.attr<std::int64_t>("rows");
  VariableClaims claims;
  for (int i = 0; i < values_of_slices(call); ++i) claims.push_back({i, moved});
  return claims;
}

// AdamUpdate of a table of `rows` rows by slices; made by a pass for kernels that need not lay out the gradient.
COHORT_OP("AdamSlicesUpdate")  // (variable, slots as above, values, indices, learning_rate, iterations)
    .inputs(7, 8)
    .checks()
    .attr("weight_decay", 0.0)
    .attr("beta_1", 0.9)
    .attr("beta_2", 0.999)
    .attr("epsilon", 1e-7)
    .attr("amsgrad", false)
    .attr("learning_rate_ratio", 1.0)
    .attr("rows", 0)
    .writes()
    .infer(check_slices)
    .claims(claims_of_slices)
    .not_differentiable();

}  // namespace

AdamOptimizer::AdamOptimizer(LearningRate learning_rate, AdamOptions options)
    : SingleOpOptimizer(std::move(learning_rate), settings_of(options), options.name), options_(std::move(options)) {}

void AdamOptimizer::visit_fields(FieldVisitor& visitor) {
  Optimizer::visit_fields(visitor);
  visit_options(options_, visitor);
}

void AdamOptimizer::make_slots(const Variables& variables) {
  add_slots(variables, {"momentum", "velocity"});
  if (options_.amsgrad) add_slots(variables, {"velocity_hat"});
}

UpdateOp AdamOptimizer::update_op() const {
  return {"AdamUpdate",
          {{"beta_1", options_.beta_1},
           {"beta_2", options_.beta_2},
           {"epsilon", options_.epsilon},
           {"amsgrad", options_.amsgrad}},
          {updates_done()}};
}

COHORT_REGISTER(Optimizer, AdamOptimizer, "Adam", "adam");

Adam::Adam(LearningRate learning_rate, AdamOptions options)
    : Handle(std::make_shared<AdamOptimizer>(std::move(learning_rate), std::move(options))) {}

}  // namespace cohort::optimizers
