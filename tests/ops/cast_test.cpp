#include "cohort/ops/cast.h"

#include "cohort/core/dispatch.h"
#include "cohort/ops/broadcast.h"
#include "cohort/ops/math.h"
#include "tests/support/op_check.h"

namespace cohort::test {
namespace {

COHORT_OP_REFERENCE(Cast, to_every_type, kAllTypes) {
  const std::vector<double> values =
      dtype == boolean ? std::vector<double>{0, 1} : std::vector<double>{0, 1, 2.75, 100};
  const Shape shape = {static_cast<std::int64_t>(values.size())};
  const Tensor x = tensor_of(values, shape, dtype);
  for (DType target : kAllTypes) {
    SCOPED_TRACE(to_string(target));
    std::vector<double> want;
    for (double value : x.to_vector<double>()) {
      want.push_back(target == boolean    ? value != 0
                     : is_integer(target) ? static_cast<double>(static_cast<int>(value))
                                          : value);
    }
    expect_tensor(ops::cast(x, target), target, shape, want);
  }
}

TEST(Cast, CutsTowardsZero) {
  expect_tensor(ops::cast(tensor_of({-2.75, 2.75, -0.5}, {3}, float32), int32), int32, {3}, {-2, 2, 0});
}

TEST(Cast, WrapsInEightBitsWhereverAnElementStands) {
  const std::vector<double> values = {-1, 300.5, -130, 7};
  const std::vector<double> wrapped_unsigned = {255, 44, 126, 7}, wrapped_signed = {-1, 44, 126, 7};
  constexpr std::size_t kCount = 67;  // whole vectors and a tail
  std::vector<double> x, unsigned_bytes, signed_bytes;
  for (std::size_t i = 0; i < kCount; ++i) {
    x.push_back(values[i % 4]);
    unsigned_bytes.push_back(wrapped_unsigned[i % 4]);
    signed_bytes.push_back(wrapped_signed[i % 4]);
  }
  for (DType from : {float16, bfloat16, float32, float64}) {
    SCOPED_TRACE(to_string(from));
    const Tensor given = tensor_of(x, {kCount}, from);
    expect_tensor(ops::cast(given, uint8), uint8, {kCount}, unsigned_bytes);
    expect_tensor(ops::cast(given, int8), int8, {kCount}, signed_bytes);
  }
}

TEST(Cast, ToTheSameTypeIsTheSameTensor) {
  const Tensor x = tensor_of({1}, {1});
  EXPECT_TRUE(ops::cast(x, float64).same_as(x));
}

TEST(Cast, RefusesStrings) {
  expect_error([] { ops::cast(Tensor::of_strings({"a"}, {1}), float32); }, {"Cast: ", "x.dtype=string"});
}

COHORT_OP_GRADIENT(Cast, there_and_back) {
  check_gradient([](const Tensors& x) { return ops::cast(ops::cast(x[0] * 0.5, float32), float64); },
                 {tensor_of({0.5, -1, 2, 4}, {2, 2})}, {.step = 0.125, .second_order = true});
}

TEST(Cast, StopsTheGradientAtIntegers) {
  check_gradient([](const Tensors& x) { return x[0] * ops::cast(ops::cast(x[0], int32), float64); },
                 {tensor_of({1.5, 2.5}, {2})}, {.second_order = false});
}

COHORT_OP_REFERENCE(BroadcastTo, keeps_axes, kAllTypes) {
  expect_tensor(ops::broadcast_to(tensor_of({1, 0}, {2, 1}, dtype), {3, -1, 2}), dtype, {3, 2, 2},
                {1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0});
}
COHORT_OP_GRADIENT(BroadcastTo, keeps_axes) {
  check_gradient([](const Tensors& x) { return ops::broadcast_to(x[0], {3, -1, 2}); }, {spread_tensor({2, 1}, -1, 1)});
}

COHORT_OP_REFERENCE(BroadcastLike, repeats, kAllTypes) {
  const Tensor like = spread_tensor({3, 2}, 0, 1);
  expect_tensor(ops::broadcast_like(tensor_of({1, 0}, {2}, dtype), like), dtype, {3, 2}, {1, 0, 1, 0, 1, 0});
  expect_tensor(ops::broadcast_like(tensor_of({1, 0, 1}, {3}, dtype), like, {1}), dtype, {3, 2}, {1, 1, 0, 0, 1, 1});
  expect_tensor(ops::broadcast_like(tensor_of({1}, {}, dtype), like), dtype, {3, 2}, {1, 1, 1, 1, 1, 1});
}
COHORT_OP_GRADIENT(BroadcastLike, repeats) {
  const Tensor like = spread_tensor({3, 2}, 0, 1);
  check_gradient([](const Tensors& x) { return ops::broadcast_like(x[0], x[1]); },
                 {spread_tensor({1, 2}, -1, 1), like});
  check_gradient([](const Tensors& x) { return ops::broadcast_like(x[0], x[1], {-1}); },
                 {spread_tensor({3}, -1, 1), like});
}

COHORT_OP_REFERENCE(SumToLike, undoes_broadcasting, kNumbers) {
  const Tensor x = tensor_of({1, 2, 3, 4, 5, 6}, {3, 2}, dtype);
  const auto like = [](const Shape& shape) { return spread_tensor(shape, 0, 1); };
  expect_tensor(ops::sum_to_like(x, like({2})), dtype, {2}, {9, 12});
  expect_tensor(ops::sum_to_like(x, like({3, 1})), dtype, {3, 1}, {3, 7, 11});
  expect_tensor(ops::sum_to_like(x, like({1, 1})), dtype, {1, 1}, {21});
  expect_tensor(ops::sum_to_like(x, like({})), dtype, {}, {21});
  expect_tensor(run_op("SumToLike", {x, like({3, 2})}), dtype, {3, 2}, {1, 2, 3, 4, 5, 6});
}
COHORT_OP_GRADIENT(SumToLike, undoes_broadcasting) {
  check_gradient([](const Tensors& x) { return ops::sum_to_like(x[0], x[1]); },
                 {spread_tensor({3, 2}, -1, 1), spread_tensor({3, 1}, -1, 1)});
}

TEST(SumToLike, RefusesALargerShape) {
  expect_error([] { ops::sum_to_like(tensor_of({1}, {1}), tensor_of({1, 2}, {2})); }, {"SumToLike: ", "smaller=(2,)"});
}

COHORT_OP_REFERENCE(SizeOf, counts_elements, kAllTypes) {
  const Tensor x = spread_tensor({2, 3, 4}, 0, 1, dtype);
  expect_tensor(ops::size_of(x), float32, {}, {24});
  expect_tensor(ops::size_of(x, {0, -1}), float32, {}, {8});
  expect_tensor(ops::size_of(x, {1}, int64), int64, {}, {3});
}

TEST(SizeOf, IsKnownOnlyWhenATraceRuns) {
  check_traced([](const Tensors& x) { return ops::size_of(x[0], {0}); }, {spread_tensor({5, 2}, 0, 1)});
}

}  // namespace
}  // namespace cohort::test
