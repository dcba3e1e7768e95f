#include "cohort/ops/cumulative.h"

#include "tests/support/op_check.h"

namespace cohort::test {
namespace {

COHORT_OP_REFERENCE(Cumsum, both_ways, kNumbers) {
  const Tensor x = tensor_of({1, 2, 3, 4, 5, 6}, {2, 3}, dtype);
  expect_tensor(ops::cumsum(x, 1), dtype, {2, 3}, {1, 3, 6, 4, 9, 15});
  expect_tensor(ops::cumsum(x, 0), dtype, {2, 3}, {1, 2, 3, 5, 7, 9});
  expect_tensor(ops::cumsum(x, -1, {.exclusive = true}), dtype, {2, 3}, {0, 1, 3, 0, 4, 9});
  expect_tensor(ops::cumsum(x, 1, {.reverse = true}), dtype, {2, 3}, {6, 5, 3, 15, 11, 6});
  expect_tensor(ops::cumsum(x, 1, {.exclusive = true, .reverse = true}), dtype, {2, 3}, {5, 3, 0, 11, 6, 0});
}

COHORT_OP_REFERENCE(Cumprod, both_ways, kNumbers) {
  const Tensor x = tensor_of({1, 2, 3, 4, 5, 6}, {2, 3}, dtype);
  expect_tensor(ops::cumprod(x, 1), dtype, {2, 3}, {1, 2, 6, 4, 20, 120});
  expect_tensor(ops::cumprod(x, 0), dtype, {2, 3}, {1, 2, 3, 4, 10, 18});
  expect_tensor(ops::cumprod(x, 1, {.exclusive = true, .reverse = true}), dtype, {2, 3}, {6, 3, 1, 30, 6, 1});
}

COHORT_OP_REFERENCE(LinearScan, both_ways, kNumbers) {
  const Tensor a = tensor_of({2, 3, 4}, {3}, dtype), b = tensor_of({1, 1, 1}, {3}, dtype);
  expect_tensor(ops::linear_scan(a, b, 0), dtype, {3}, {1, 4, 17});
  expect_tensor(ops::linear_scan(a, b, 0, true), dtype, {3}, {9, 4, 1});
}

TEST(Diff, ends_when_nothing_is_left) {
  const Tensor x = tensor_of({1, 4, 9, 16}, {4});
  expect_tensor(ops::diff(x, 2), float64, {2}, {2, 2});
  expect_tensor(ops::diff(x, 0), float64, {4}, {1, 4, 9, 16});
  expect_tensor(ops::diff(x, 4), float64, {0}, {});
  expect_tensor(ops::diff(x, 2000000000), float64, {0}, {});
}
TEST(Diff, refuses_what_would_not_end) {
  expect_error([] { ops::diff(spread({4}), -1); }, {"diff:", "n=-1"});
  expect_error([] { ops::diff(spread({2000}), 1001); }, {"diff:", "n=1001", "(2000,)"});
}

COHORT_OP_GRADIENT(Cumsum, all_forms) {
  for (bool exclusive : {false, true}) {
    for (bool reverse : {false, true}) {
      check_gradient(
          [=](const Tensors& x) {
            return ops::cumsum(x[0], 1, {exclusive, reverse});
          },
          {spread_tensor({2, 4}, -1, 1)});
    }
  }
}

COHORT_OP_GRADIENT(Cumprod, all_forms) {
  for (bool exclusive : {false, true}) {
    for (bool reverse : {false, true}) {
      for (int axis : {0, 1}) {
        check_gradient(
            [=](const Tensors& x) {
              return ops::cumprod(x[0], axis, {exclusive, reverse});
            },
            {tensor_of({1.5, 0, -2, 0.5, 3, 0, 0, 2}, {2, 4})});
      }
    }
  }
}

COHORT_OP_GRADIENT(LinearScan, both_ways) {
  for (bool reverse : {false, true}) {
    check_gradient([=](const Tensors& x) { return ops::linear_scan(x[0], x[1], 1, reverse); },
                   {spread_tensor({2, 4}, -1, 1), spread_tensor({2, 4}, -1, 1, float64, 5)});
  }
}

}  // namespace
}  // namespace cohort::test
