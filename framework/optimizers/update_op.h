#pragma once

#include <string_view>
#include <vector>

#include "cohort/core/attributes.h"
#include "cohort/core/op.h"
#include "cohort/variables/variable.h"

namespace cohort {

// Runs an update op (ops/optimizer_ops.cpp) on one variable: `variables` are it and its slots, `shared` what follows
// the gradient. The gradient and the rate are brought to the types the op expects.
void run_update(std::string_view op, const Variables& variables, const Gradient& gradient, Tensors shared,
                Attributes attributes);

}  // namespace cohort
