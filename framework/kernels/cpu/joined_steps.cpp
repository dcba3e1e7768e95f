#include "cohort/kernels/chained_steps.h"

namespace cohort {

COHORT_KERNEL("JoinedSteps", kCPU, kernels::make_chained_steps);

}  // namespace cohort
