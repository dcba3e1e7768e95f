#include "cohort/ops/sorting.h"

#include <limits>

#include "cohort/ops/math.h"
#include "tests/support/op_check.h"

namespace cohort::test {
namespace {

using namespace ops;

COHORT_OP_REFERENCE(TopK, largest_first, kNumbers) {
  const TopK top = top_k(tensor_of({1, 5, 3, 5, 0, 2, 2, 1}, {2, 4}, dtype), 2);
  expect_tensor(top.values, dtype, {2, 2}, {5, 5, 2, 2});
  expect_tensor(top.indices, int32, {2, 2}, {1, 3, 1, 2});
  expect_error([&] { top_k(tensor_of({1, 2}, {2}, dtype), 3); }, {"TopK:", "must not exceed", "k=3"});
}
COHORT_OP_GRADIENT(TopK, of_values) {
  check_gradient([](const Tensors& x) { return square(top_k(x[0], 2).values); }, {spread_tensor({3, 4}, -1, 1)});
}

COHORT_OP_REFERENCE(Sort, both_directions_any_axis, kNumbers) {
  const Tensor x = tensor_of({3, 1, 2, 1, 5, 0}, {2, 3}, dtype);
  expect_tensor(sort(x), dtype, {2, 3}, {1, 2, 3, 0, 1, 5});
  expect_tensor(sort(x, 0), dtype, {2, 3}, {1, 1, 0, 3, 5, 2});
  expect_tensor(sort(x, -1, true), dtype, {2, 3}, {3, 2, 1, 5, 1, 0});
  expect_tensor(argsort(x), int32, {2, 3}, {1, 2, 0, 2, 0, 1});
}
COHORT_OP_GRADIENT(Sort, first_axis) {
  check_gradient([](const Tensors& x) { return square(sort(x[0], 0)); }, {spread_tensor({4, 2}, -1, 1)});
}
TEST(Sort, keeps_the_order_of_equals_and_puts_nan_last) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Tensor x = tensor_of({2, nan, 1, 2, 1}, {5});
  expect_tensor(argsort(x), int32, {5}, {2, 4, 0, 3, 1});
  expect_tensor(argsort(x, -1, true), int32, {5}, {0, 3, 2, 4, 1});
}

COHORT_OP_REFERENCE(Unique, values_inverse_counts, kNumbers) {
  const Unique different = unique(tensor_of({3, 1, 3, 2, 1, 3}, {2, 3}, dtype));
  expect_tensor(different.values, dtype, {3}, {1, 2, 3});
  expect_tensor(different.inverse, int64, {2, 3}, {2, 0, 2, 1, 0, 2});
  expect_tensor(different.counts, int64, {3}, {2, 1, 3});
}
TEST(Unique, in_a_trace) {
  check_traced([](const Tensors& x) { return unique(x[0]).values; }, {tensor_of({3, 1, 3}, {3})});
  check_traced([](const Tensors& x) { return unique(x[0]).counts; }, {tensor_of({3, 1, 3}, {3})});
}

}  // namespace
}  // namespace cohort::test
