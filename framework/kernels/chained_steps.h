#pragma once

#include "cohort/core/joined_steps.h"
#include "cohort/core/kernel.h"

namespace cohort::kernels {

// The steps that a JoinedSteps is made of, each by its own kernel.
KernelFn make_chained_steps(const KernelSpec& spec);

}  // namespace cohort::kernels
