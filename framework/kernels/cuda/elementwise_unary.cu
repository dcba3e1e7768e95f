#include "cohort/kernels/cuda/elementwise.h"

namespace cohort::kernels::cuda {

#define COHORT_ROW(Name, function, types, ...) COHORT_KERNEL(#Name, kGPU, (make_unary<fn::Name, fn::Types::types>));
COHORT_UNARY_FUNCTORS(COHORT_ROW)
COHORT_UNARY_TESTS(COHORT_ROW)
#undef COHORT_ROW

}  // namespace cohort::kernels::cuda
