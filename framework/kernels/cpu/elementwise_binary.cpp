#include "cohort/kernels/cpu/elementwise_templates.h"

namespace cohort::kernels {

#define COHORT_ROW(Name, function, types, ...) COHORT_KERNEL(#Name, kCPU, (make_binary<fn::Name, fn::Types::types>));
COHORT_BINARY_FUNCTORS(COHORT_ROW)
#undef COHORT_ROW

BinaryLoops find_binary_function(std::string_view op, DType dtype) {
#define COHORT_ROW(Name, function, types, ...) \
  if (op == #Name) return binary_loops_for<fn::Name, fn::Types::types>(dtype);
  COHORT_BINARY_FUNCTORS(COHORT_ROW)
#undef COHORT_ROW
  return {};
}

}  // namespace cohort::kernels
