#pragma once

#include "cohort/core/kernel.h"

namespace cohort {

// For kernels of MatMulBiasGrad and ConvBiasGrad: one that adds up the rows of their second input, given as the only
// one, into their second output.
KernelFn make_column_sums(const KernelSpec& spec);

}  // namespace cohort
