#pragma once

#include <string_view>

#include "cohort/core/tensor.h"

namespace cohort::ops {

// Einstein's sum: "ij,jk->ik" multiplies matrices, "bij,bkj->bik" batches of them, "...i->..." sums the last axis. The
// output may be left out (then it has the labels that occur once, in order). A label twice in one operand is an error.
Tensor einsum(std::string_view equation, const Tensors& operands);

}  // namespace cohort::ops
