#pragma once

#include <functional>

#include "cohort/core/tensor.h"

namespace cohort {

// Runs `body` on the inputs; a gradient keeps nothing of what lies between them and the results, but computes it again
// from the inputs. Less memory, the same numbers: random ops draw the same ones.
Tensors rematerialized(const std::function<Tensors(const Tensors&)>& body, const Tensors& inputs);

}  // namespace cohort
