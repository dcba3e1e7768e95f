#include "cohort/kernels/functors.h"
#include "cohort/model/symbols/operation_table.h"
#include "cohort/ops/math.h"

// The functor table's ops on symbols, and as the operations that files hold.
namespace cohort {
namespace {

// Divide and TrueDivide are one op: Keras writes the latter for the operator.
const bool elementwise_registered = [] {
  operations::add_of_two("numpy", "Divide", ops::divide);
#define COHORT_REGISTER_none(function, module, keras)
#define COHORT_REGISTER_numpy(function, module, keras) operations::COHORT_ADD(module, keras, ops::function);
#define COHORT_REGISTER_math(function, module, keras) operations::COHORT_ADD(module, keras, ops::function);
#define COHORT_REGISTER_nn(function, module, keras) operations::COHORT_ADD(module, keras, ops::function);
#define COHORT_ROW(Name, function, types, module, keras, ...) COHORT_REGISTER_##module(function, #module, #keras)
#define COHORT_ADD add_of_one
  COHORT_UNARY_FUNCTORS(COHORT_ROW)
  COHORT_UNARY_TESTS(COHORT_ROW)
#undef COHORT_ADD
#define COHORT_ADD add_of_two
  COHORT_BINARY_FUNCTORS(COHORT_ROW)
  COHORT_BINARY_TESTS(COHORT_ROW)
#undef COHORT_ADD
#undef COHORT_ROW
  return true;
}();

}  // namespace

namespace ops {

#define COHORT_SYMBOL_none(function, operation)
#define COHORT_SYMBOL_numpy(function, operation) COHORT_DEFINE(function, operation)
#define COHORT_SYMBOL_math(function, operation) COHORT_DEFINE(function, operation)
#define COHORT_SYMBOL_nn(function, operation) COHORT_DEFINE(function, operation)
#define COHORT_ROW(Name, function, types, module, keras, ...) COHORT_SYMBOL_##module(function, #module ">" #keras)

#define COHORT_DEFINE COHORT_SYMBOL_OF_ONE
COHORT_UNARY_FUNCTORS(COHORT_ROW)
COHORT_UNARY_TESTS(COHORT_ROW)
#undef COHORT_DEFINE
#define COHORT_DEFINE COHORT_SYMBOL_OF_TWO
COHORT_BINARY_FUNCTORS(COHORT_ROW)
COHORT_BINARY_TESTS(COHORT_ROW)
#undef COHORT_DEFINE

#undef COHORT_ROW
#undef COHORT_REGISTER_none
#undef COHORT_REGISTER_numpy
#undef COHORT_REGISTER_math
#undef COHORT_REGISTER_nn
#undef COHORT_SYMBOL_none
#undef COHORT_SYMBOL_numpy
#undef COHORT_SYMBOL_math
#undef COHORT_SYMBOL_nn

}  // namespace ops
}  // namespace cohort
