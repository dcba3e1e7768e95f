#include "cohort/ops/indexing.h"

#include "cohort/autodiff/tape.h"
#include "cohort/core/dispatch.h"
#include "cohort/ops/math.h"
#include "tests/ops/counted.h"

namespace cohort::test {
namespace {

using namespace ops;

Tensor indices_of(const std::vector<double>& values, const Shape& shape, DType dtype = int32) {
  return tensor_of(values, shape, dtype);
}

COHORT_OP_REFERENCE(Gather, along_both_axes, kAllTypes) {
  const Tensor x = counted({3, 2}, dtype);
  for (DType index : kIntegers) {
    expect_counted(gather(x, indices_of({2, 0, 2}, {3}, index)), dtype, {3, 2}, {4, 5, 0, 1, 4, 5});
  }
  expect_counted(gather(x, indices_of({1, 1, 0, 0}, {2, 2}), 1), dtype, {3, 2, 2},
                 {1, 1, 0, 0, 3, 3, 2, 2, 5, 5, 4, 4});
  expect_counted(gather(x, indices_of({1}, {})), dtype, {2}, {2, 3});
  expect_counted(take(x, indices_of({-1, 0}, {2}, int64), 0), dtype, {2, 2}, {4, 5, 0, 1});
}
COHORT_OP_GRADIENT(Gather, rows_and_columns) {
  const Tensor rows = indices_of({2, 0, 2}, {3}), grid = indices_of({1, 0, 0, 1}, {2, 2});
  check_gradient([=](const Tensors& x) { return square(gather(x[0], rows)); }, {spread({3, 2})});
  check_gradient([=](const Tensors& x) { return square(gather(x[0], grid)); }, {spread({3, 2})});
  check_gradient([=](const Tensors& x) { return square(gather(x[0], grid, 1)); }, {spread({3, 2})});
}
TEST(Gather, gradient_of_rows_is_slices) {
  const Tensor x = spread({4, 2});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = gather(x, indices_of({3, 1}, {2}));
  const Gradients gradients = tape.gradient(y, Tensors{x});
  ASSERT_TRUE(gradients[0].is_slices());
  EXPECT_EQ(gradients[0].slices().indices.to_vector<int>(), (std::vector<int>{3, 1}));
  expect_values(gradients[0].dense(), {0, 0, 1, 1, 0, 0, 1, 1}, 0);
}
TEST(Gather, names_the_index_that_is_outside) {
  expect_error(
      [] {
        gather(counted({10, 2}, float32), indices_of({0, 1, 2, 12}, {4}));
      },
      {"Gather: indices must lie in [0, 10). Received: indices[3]=12."});
  expect_error([] { gather(counted({10, 2}, float32), indices_of({-1}, {1})); }, {"indices[0]=-1"});
  expect_error([] { gather(counted({10, 2}, float32), counted({1}, float32)); }, {"Gather:", "must be integers"});
}
TEST(Gather, moves_strings) {
  const Tensor words = Tensor::of_strings({"a", "b", "c"}, {3});
  const Tensor order = Tensor::of<int>({2, 0}, {2}, cpu());
  EXPECT_EQ(gather(words, order).to_strings(), (std::vector<std::string>{"c", "a"}));
}

COHORT_OP_REFERENCE(ScatterAddLike, adds_repeats, kNumbers) {
  const Tensor like = counted({3, 2}, dtype), values = counted({3, 2}, dtype);
  expect_tensor(scatter_add_like(like, indices_of({2, 0, 2}, {3}), values), dtype, {3, 2}, {2, 3, 0, 0, 4, 6});
  expect_tensor(scatter_add_like(like, indices_of({1, 1}, {2}), counted({3, 2}, dtype), 1), dtype, {3, 2},
                {0, 1, 0, 5, 0, 9});
}
COHORT_OP_GRADIENT(ScatterAddLike, gathers) {
  const Tensor rows = indices_of({2, 0, 2}, {3});
  check_gradient([=](const Tensors& x) { return square(scatter_add_like(x[0], rows, x[1])); },
                 {spread({3, 2}), spread({3, 2}, 2)});
}
// Wider than a strip and large enough for several tasks.
TEST(ScatterAddLike, wide_rows) {
  const std::int64_t rows = 50, columns = 150, count = 400;
  const std::vector<double> values = spread_values(count * columns, -1, 1);
  std::vector<double> numbers, want(static_cast<std::size_t>(rows * columns));
  for (std::int64_t i = 0; i < count; ++i) numbers.push_back(static_cast<double>(i * 7 % rows));
  for (std::int64_t i = 0; i < count * columns; ++i) {
    want[static_cast<std::size_t>(i / columns * 7 % rows * columns + i % columns)] +=
        values[static_cast<std::size_t>(i)];
  }
  expect_values(scatter_add_like(counted({rows, columns}, float64), indices_of(numbers, {count}, int64),
                                 tensor_of(values, {count, columns})),
                want, 1e-12);
}

COHORT_OP_REFERENCE(TakeAlongAxis, picks, kAllTypes) {
  const Tensor x = counted({2, 3}, dtype);
  expect_counted(take_along_axis(x, indices_of({2, 0, 1, 1}, {2, 2}), -1), dtype, {2, 2}, {2, 0, 4, 4});
  expect_counted(take_along_axis(x, indices_of({1, 0, 1}, {1, 3}), 0), dtype, {1, 3}, {3, 1, 5});
}
COHORT_OP_GRADIENT(TakeAlongAxis, puts_back) {
  const Tensor picks = indices_of({2, 0, 1, 1}, {2, 2});
  check_gradient([=](const Tensors& x) { return square(take_along_axis(x[0], picks, -1)); }, {spread({2, 3})});
}
COHORT_OP_REFERENCE(TakeAlongAxisGrad, adds_repeats, kNumbers) {
  expect_tensor(
      run_op("TakeAlongAxisGrad", {counted({2, 2}, dtype), indices_of({2, 0, 1, 1}, {2, 2}), counted({2, 3}, dtype)}),
      dtype, {2, 3}, {1, 0, 0, 0, 5, 0});
}
COHORT_OP_GRADIENT(TakeAlongAxisGrad, picks) {
  const Tensor picks = indices_of({2, 0, 1, 1}, {2, 2});
  check_gradient(
      [=](const Tensors& x) {
        return square(run_op("TakeAlongAxisGrad", {x[0], picks, x[1]}));
      },
      {spread({2, 2}), spread({2, 3}, 2)});
}

COHORT_OP_REFERENCE(GatherNd, elements_and_slices, kAllTypes) {
  const Tensor x = counted({2, 3}, dtype);
  expect_counted(gather_nd(x, indices_of({1, 2, 0, 1}, {2, 2})), dtype, {2}, {5, 1});
  expect_counted(gather_nd(x, indices_of({1}, {1, 1})), dtype, {1, 3}, {3, 4, 5});
}
COHORT_OP_GRADIENT(GatherNd, with_a_repeat) {
  const Tensor positions = indices_of({1, 2, 0, 1, 1, 2}, {3, 2});
  check_gradient([=](const Tensors& x) { return square(gather_nd(x[0], positions)); }, {spread({2, 3})});
}
TEST(GatherNd, names_the_index_that_is_outside) {
  expect_error(
      [] {
        gather_nd(counted({2, 3}, float32), indices_of({1, 3}, {1, 2}));
      },
      {"GatherNd: indices must lie in [0, 3)", "indices[1]=3"});
}
COHORT_OP_REFERENCE(ScatterNd, adds, kNumbers) {
  const Tensor positions = indices_of({1, 2, 0, 1, 1, 2}, {3, 2});
  expect_tensor(scatter_nd(positions, counted({3}, dtype), {2, 3}), dtype, {2, 3}, {0, 1, 0, 0, 0, 2});
}
COHORT_OP_GRADIENT(ScatterNd, gathers) {
  const Tensor positions = indices_of({1, 0, 1}, {3, 1});
  check_gradient([=](const Tensors& x) { return square(scatter_nd(positions, x[0], {2, 2})); }, {spread({3, 2})});
}
COHORT_OP_REFERENCE(ScatterNdLike, adds, kNumbers) {
  const Tensor positions = indices_of({1, 1, 0}, {3, 1});
  expect_tensor(run_op("ScatterNdLike", {counted({2}, dtype), positions, counted({3}, dtype)}), dtype, {2}, {2, 1});
}
COHORT_OP_GRADIENT(ScatterNdLike, gathers) {
  const Tensor positions = indices_of({1, 0, 1}, {3, 1});
  check_gradient(
      [=](const Tensors& x) {
        return square(run_op("ScatterNdLike", {x[0], positions, x[1]}));
      },
      {spread({2, 2}), spread({3, 2}, 2)});
}
COHORT_OP_REFERENCE(TensorScatterUpdate, overwrites, kAllTypes) {
  const Tensor updates = tensor_of({1, 0}, {1, 2}, dtype);
  expect_tensor(scatter_update(tensor_of({0, 1, 1, 0}, {2, 2}, dtype), indices_of({1}, {1, 1}), updates), dtype, {2, 2},
                {0, 1, 1, 0});
  expect_tensor(scatter_update(tensor_of({0, 1, 1, 0}, {2, 2}, dtype), indices_of({0}, {1, 1}), updates), dtype, {2, 2},
                {1, 0, 1, 0});
}
COHORT_OP_GRADIENT(TensorScatterUpdate, both_inputs) {
  const Tensor positions = indices_of({2, 0}, {2, 1});
  check_gradient([=](const Tensors& x) { return square(scatter_update(x[0], positions, x[1])); },
                 {spread({3, 2}), spread({2, 2}, 2)});
}

COHORT_OP_REFERENCE(OneHot, both_axes_and_outside, kAllTypes) {
  const Tensor x = indices_of({2, 0, -1}, {3}, int64);
  expect_tensor(one_hot(x, 3, -1, dtype), dtype, {3, 3}, {0, 0, 1, 1, 0, 0, 0, 0, 0});
  expect_tensor(one_hot(x, 3, 0, dtype), dtype, {3, 3}, {0, 1, 0, 0, 0, 0, 1, 0, 0});
}

COHORT_OP_REFERENCE(Where, positions, kAllTypes) {
  expect_tensor(where(tensor_of({0, 1, 1, 0}, {2, 2}, dtype)), int64, {2, 2}, {0, 1, 1, 0});
  expect_tensor(where(tensor_of({0, 0}, {2}, dtype)), int64, {0, 1}, {});
  const Tensor mask = tensor_of({1, 0, 1}, {3}, boolean);
  expect_counted(boolean_mask(counted({3, 2}, dtype), mask), dtype, {2, 2}, {0, 1, 4, 5});
}
TEST(Where, in_a_trace) {
  check_traced([](const Tensors& x) { return where(x[0] > 2.0); }, {counted({3, 2}, float32)});
  check_traced([](const Tensors& x) { return boolean_mask(x[0], x[0] > 2.0) * 2.0; }, {counted({3, 2}, float32)});
}
TEST(Where, mask_has_a_gradient) {
  const Tensor mask = tensor_of({1, 0, 1}, {3}, boolean);
  check_gradient([=](const Tensors& x) { return square(boolean_mask(x[0], mask)); }, {spread({3, 2})});
}

}  // namespace
}  // namespace cohort::test
