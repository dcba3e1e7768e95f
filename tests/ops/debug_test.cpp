#include "cohort/ops/debug.h"

#include <limits>

#include "cohort/ops/math.h"
#include "tests/ops/counted.h"

namespace cohort::test {
namespace {

using namespace ops;

COHORT_OP_REFERENCE(CheckNumerics, passes_or_counts, kFloats) {
  expect_counted(check_numerics(counted({2, 2}, dtype), "fine"), dtype, {2, 2}, {0, 1, 2, 3});
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  expect_error(
      [&] {
        check_numerics(tensor_of({1, nan, inf, -inf}, {4}, dtype), "activations");
      },
      {"CheckNumerics 'activations':", "finite", "NaN=1, Inf=2"});
}
COHORT_OP_GRADIENT(CheckNumerics, passes) {
  check_gradient([](const Tensors& x) { return square(check_numerics(x[0], "x")); }, {spread_tensor({2, 3}, -1, 1)});
}
COHORT_OP_REFERENCE(Assert, passes_or_says_what, kBool) {
  expect_tensor(assert_true(tensor_of({1, 1}, {2}, dtype), "all good"), dtype, {2}, {1, 1});
  expect_error(
      [&] {
        assert_true(tensor_of({1, 0}, {2}, dtype), "sizes must be positive");
      },
      {"Assert: sizes must be positive", "false elements=1"});
}

}  // namespace
}  // namespace cohort::test
