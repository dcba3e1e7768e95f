#include "cohort/kernels/cuda/elementwise.h"

namespace cohort::kernels::cuda {

#define COHORT_ROW(Name, function, types, ...) COHORT_KERNEL(#Name, kGPU, (make_binary<fn::Name, fn::Types::types>));
COHORT_BINARY_FUNCTORS(COHORT_ROW)
COHORT_BINARY_TESTS(COHORT_ROW)
#undef COHORT_ROW

}  // namespace cohort::kernels::cuda
