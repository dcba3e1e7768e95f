#include "cohort/kernels/cpu/elementwise_templates.h"

namespace cohort::kernels {

#define COHORT_ROW(Name, function, types, ...) COHORT_KERNEL(#Name, kCPU, (make_unary<fn::Name, fn::Types::types>));
COHORT_UNARY_FUNCTORS(COHORT_ROW)
#undef COHORT_ROW

UnaryLoop find_unary_function(std::string_view op, DType dtype) {
#define COHORT_ROW(Name, function, types, ...) \
  if (op == #Name) return unary_loop_for<fn::Name, fn::Types::types>(dtype);
  COHORT_UNARY_FUNCTORS(COHORT_ROW)
#undef COHORT_ROW
  return nullptr;
}

}  // namespace cohort::kernels
