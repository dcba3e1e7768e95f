#include "cohort/ops/matrices.h"

#include "cohort/ops/math.h"
#include "tests/support/op_check.h"

namespace cohort::test {
namespace {

using namespace ops;

TEST(Tril, cuts_every_matrix_of_a_batch) {
  const Tensor x = tensor_of({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, {2, 2, 3});
  expect_tensor(tril(x), float64, {2, 2, 3}, {1, 0, 0, 4, 5, 0, 7, 0, 0, 10, 11, 0});
  expect_tensor(tril(x, -1), float64, {2, 2, 3}, {0, 0, 0, 4, 0, 0, 0, 0, 0, 10, 0, 0});
  expect_tensor(triu(x, 1), float64, {2, 2, 3}, {0, 2, 3, 0, 0, 6, 0, 8, 9, 0, 0, 12});
  expect_tensor(triu(tensor_of({1, 1, 1, 1}, {2, 2}, boolean)), boolean, {2, 2}, {1, 1, 0, 1});
  expect_tensor(trace(x, 0, 1, 2), float64, {2}, {6, 18});
}
TEST(Tril, of_empty_batches_and_of_vectors) {
  expect_tensor(tril(Tensor::full({0, 2, 2}, 1.0)), float32, {0, 2, 2}, {});
  expect_tensor(triu(Tensor::full({2, 0, 3}, 1.0)), float32, {2, 0, 3}, {});
  expect_error([] { tril(spread({3})); }, {"tril", "two axes", "(3,)"});
}
TEST(Tril, has_a_gradient) {
  check_gradient([](const Tensors& x) { return tril(x[0], 1) * triu(x[0]); }, {spread({2, 3, 3})});
}

}  // namespace
}  // namespace cohort::test
