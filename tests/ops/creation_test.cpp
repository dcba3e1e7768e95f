#include "cohort/ops/creation.h"

#include "tests/ops/counted.h"

namespace cohort::test {
namespace {

using namespace ops;

COHORT_OP_REFERENCE(Fill, one_value, kAllTypes) {
  expect_tensor(full({2, 2}, 1, dtype), dtype, {2, 2}, {1, 1, 1, 1});
  expect_tensor(zeros({3}, dtype), dtype, {3}, {0, 0, 0});
  expect_tensor(ones({}, dtype), dtype, {}, {1});
}
COHORT_OP_REFERENCE(FullLike, one_value, kNumbers) {
  expect_tensor(full_like(counted({2, 2}, dtype), 3), dtype, {2, 2}, {3, 3, 3, 3});
}
COHORT_OP_REFERENCE(ZerosLike, zeros, kAllTypes) {
  expect_tensor(zeros_like(counted({2, 2}, dtype)), dtype, {2, 2}, {0, 0, 0, 0});
}
COHORT_OP_REFERENCE(OnesLike, ones, kAllTypes) {
  expect_tensor(ones_like(counted({2, 2}, dtype)), dtype, {2, 2}, {1, 1, 1, 1});
}
TEST(OnesLike, follows_an_unknown_batch) {
  check_traced([](const Tensors& x) { return ones_like(x[0]); }, {counted({4, 3}, float32)});
}

COHORT_OP_REFERENCE(Range, ups_and_downs, kNumbers) {
  expect_tensor(arange(0, 5, 1, dtype), dtype, {5}, {0, 1, 2, 3, 4});
  expect_tensor(arange(5, 0, -2, dtype), dtype, {3}, {5, 3, 1});
  expect_tensor(arange(3, 3, 1, dtype), dtype, {0}, {});
}
TEST(Range, has_numpys_count_and_refuses_a_step_of_zero) {
  expect_tensor(arange(0, 1, 0.3, float32), float32, {4}, {0, 0.3, 0.6, 0.9});
  expect_error([] { arange(0, 1, 0); }, {"arange:", "step must not be 0"});
}
COHORT_OP_REFERENCE(Linspace, both_ends, kFloats) {
  expect_tensor(linspace(0, 1, 5, dtype), dtype, {5}, {0, 0.25, 0.5, 0.75, 1});
  expect_tensor(linspace(2, 3, 1, dtype), dtype, {1}, {2});
}
COHORT_OP_REFERENCE(Eye, diagonals, kAllTypes) {
  expect_tensor(eye(2, -1, 0, dtype), dtype, {2, 2}, {1, 0, 0, 1});
  expect_tensor(eye(2, 3, 1, dtype), dtype, {2, 3}, {0, 1, 0, 0, 0, 1});
  expect_tensor(eye(3, 2, -1, dtype), dtype, {3, 2}, {0, 0, 1, 0, 0, 1});
}

}  // namespace
}  // namespace cohort::test
