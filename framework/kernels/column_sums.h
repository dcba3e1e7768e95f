#pragma once

#include "cohort/core/kernel.h"

namespace cohort {

// For kernels of MatMulBiasGrad: one that adds up the rows of its second input, given as the only one, into its second
// output.
KernelFn make_column_sums(const KernelSpec& spec);

}  // namespace cohort
