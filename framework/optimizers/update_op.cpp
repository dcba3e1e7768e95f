#include "cohort/optimizers/update_op.h"

#include "cohort/core/dispatch.h"
#include "cohort/ops/cast.h"

namespace cohort {

void run_update(std::string_view op, const Variables& variables, const Gradient& gradient, Tensors shared,
                Attributes attributes) {
  Tensors inputs;
  for (const Variable& variable : variables) inputs.push_back(variable.handle());
  inputs.push_back(ops::cast(gradient.dense(), variables[0].dtype()));
  if (!inputs.back().shape().compatible(variables[0].shape())) {
    throw invalid_argument(op, "a gradient must have the shape of its variable",
                           {{"gradient.shape", inputs.back().shape()},
                            {"variable", variables[0].path()},
                            {"variable.shape", variables[0].shape()}});
  }
  shared[0] = ops::cast(shared[0], DType::Float32);
  inputs.insert(inputs.end(), shared.begin(), shared.end());
  attributes.set("count", 1);
  attributes.set("groups", static_cast<int>(variables.size()) + 1);
  run_op_all(op, inputs, attributes);
}

}  // namespace cohort
