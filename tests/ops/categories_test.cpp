#include "cohort/ops/categories.h"

#include "tests/support/op_check.h"

namespace cohort::test {
namespace {

using namespace ops;

const std::vector<DType> kWide = {DType::Float32, DType::Float64};

COHORT_OP_REFERENCE(Bucketize, a_boundary_belongs_to_what_is_above, kWide) {
  expect_tensor(bucketize(tensor_of({-1, 0, 0.5, 1, 7}, {5}, dtype), {0, 1}), int32, {5}, {0, 1, 1, 2, 2});
  expect_tensor(bucketize(tensor_of({3}, {1}, dtype), {}), int32, {1}, {0});
  expect_error([] { bucketize(tensor_of({1}, {1}), {1, 0}); }, {"boundaries must ascend"});
}

COHORT_OP_REFERENCE(CountCategories, counts_and_marks, kNumbers) {
  const Tensor categories = tensor_of({0, 2, 2, 1, 1, 9}, {2, 3}, int32);
  expect_tensor(count_categories(categories, 3, false, dtype), dtype, {2, 3}, {1, 0, 2, 0, 2, 0});
  expect_tensor(count_categories(categories, 3, true, dtype), dtype, {2, 3}, {1, 0, 1, 0, 1, 0});
  const Tensor weights = tensor_of({3, 1, 2, 5, 1, 4}, {2, 3}, dtype);
  expect_tensor(count_categories(categories, 3, false, dtype, weights), dtype, {2, 3}, {3, 0, 3, 0, 6, 0});
  expect_tensor(count_categories(tensor_of({1, 1}, {2}, int64), 2, false, dtype), dtype, {2}, {0, 2});
}
TEST(CountCategories, refuses_what_is_no_category) {
  expect_error([] { count_categories(tensor_of({0, -1}, {1, 2}, int32), 3); }, {"category=-1"});
  expect_error([] { count_categories(tensor_of({0}, {1}, int32), 0); }, {"depth=0"});
  expect_error(
      [] {
        count_categories(tensor_of({0}, {1}, int32), 2, false, DType::Float32, tensor_of({0, 1}, {2}));
      },
      {"weights must have"});
}

}  // namespace
}  // namespace cohort::test
