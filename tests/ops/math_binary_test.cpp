#include <cmath>

#include "cohort/autodiff/tape.h"
#include "cohort/ops/math.h"
#include "tests/ops/elementwise_check.h"

namespace cohort::test {
namespace {

#define BINARY_REFERENCE(Name, function, dtypes, low, high, b_low, b_high, expression)                             \
  COHORT_OP_REFERENCE(Name, values, dtypes) {                                                                      \
    check_binary([](const Tensor& a, const Tensor& b) { return ops::function(a, b); },                             \
                 []([[maybe_unused]] double a, [[maybe_unused]] double b) -> double { return expression; }, dtype, \
                 low, high, b_low, b_high);                                                                        \
  }
#define BINARY_GRADIENT(Name, function, low, high, b_low, b_high)                                                 \
  COHORT_OP_GRADIENT(Name, values) {                                                                              \
    check_binary_gradient([](const Tensor& a, const Tensor& b) { return ops::function(a, b); }, low, high, b_low, \
                          b_high);                                                                                \
  }
#define BINARY_CASE(Name, function, dtypes, low, high, b_low, b_high, expression) \
  BINARY_REFERENCE(Name, function, dtypes, low, high, b_low, b_high, expression)  \
  BINARY_GRADIENT(Name, function, low, high, b_low, b_high)

double python_mod(double a, double b) { return b == 0 ? 0 : a - b * std::floor(a / b); }

BINARY_CASE(Add, add, kNumbers, -9, 9, -9, 9, a + b)
BINARY_CASE(Subtract, subtract, kNumbers, -9, 9, -9, 9, a - b)
BINARY_CASE(Multiply, multiply, kNumbers, -9, 9, -9, 9, (a * b))
BINARY_CASE(Divide, divide, kFloats, -9, 9, 1, 9, a / b)
BINARY_REFERENCE(FloorDivide, floor_divide, kIntegers, -40, 40, -5, 5, b == 0 ? 0 : std::floor(a / b))
BINARY_REFERENCE(Mod, mod, kIntegers, -40, 40, -5, 5, python_mod(a, b))
BINARY_GRADIENT(Mod, mod, 0.1, 0.9, 1.5, 2)
BINARY_CASE(Pow, pow, kFloats, 0.5, 3, -2, 2, std::pow(a, b))
BINARY_CASE(Maximum, maximum, kNumbers, -9, 9, -9, 9, std::max(a, b))
BINARY_CASE(Minimum, minimum, kNumbers, -9, 9, -9, 9, std::min(a, b))
BINARY_CASE(SquaredDifference, squared_difference, kNumbers, -5, 5, -5, 5, (a - b) * (a - b))
BINARY_CASE(Atan2, atan2, kFloats, -3, 3, 0.5, 3, std::atan2(a, b))
BINARY_CASE(ReluGrad, relu_grad, kNumbers, -3, 3, -2, 2, b > 0 ? a : 0)
BINARY_CASE(SigmoidGrad, sigmoid_grad, kFloats, -3, 3, 0.1, 0.9, (a * b * (1 - b)))
BINARY_CASE(TanhGrad, tanh_grad, kFloats, -3, 3, -0.9, 0.9, (a * (1 - b * b)))
BINARY_REFERENCE(Equal, equal, kAllTypes, -2, 2, -2, 2, a == b)
BINARY_REFERENCE(NotEqual, not_equal, kAllTypes, -2, 2, -2, 2, a != b)
BINARY_REFERENCE(Less, less, kAllTypes, -2, 2, -2, 2, a < b)
BINARY_REFERENCE(LessEqual, less_equal, kAllTypes, -2, 2, -2, 2, a <= b)
BINARY_REFERENCE(Greater, greater, kAllTypes, -2, 2, -2, 2, a > b)
BINARY_REFERENCE(GreaterEqual, greater_equal, kAllTypes, -2, 2, -2, 2, a >= b)
BINARY_REFERENCE(LogicalAnd, logical_and, kBool, 0, 1.9, 0, 1.9, a != 0 && b != 0)
BINARY_REFERENCE(LogicalOr, logical_or, kBool, 0, 1.9, 0, 1.9, a != 0 || b != 0)
BINARY_REFERENCE(LogicalXor, logical_xor, kBool, 0, 1.9, 0, 1.9, (a != 0) != (b != 0))

COHORT_OP_REFERENCE(FloorDivide, of_floats, kFloats) {
  expect_tensor(ops::floor_divide(tensor_of({7, -7, 7, -7}, {4}, dtype), tensor_of({2, 2, -2, -2}, {4}, dtype)), dtype,
                {4}, {3, -4, -4, 3});
}
COHORT_OP_REFERENCE(Mod, of_floats, kFloats) {
  expect_tensor(ops::mod(tensor_of({7, -7, 7, -7, 4.5}, {5}, dtype), tensor_of({4, 4, -4, -4, 1.5}, {5}, dtype)), dtype,
                {5}, {3, 1, -1, -3, 0});
}
COHORT_OP_REFERENCE(Pow, of_integers, kIntegers) {
  expect_tensor(ops::pow(tensor_of({2, 3, 0, 5, 1}, {5}, dtype), tensor_of({6, 4, 0, 1, 100}, {5}, dtype)), dtype, {5},
                {64, 81, 1, 5, 1});
}

COHORT_OP_REFERENCE(Select, broadcasts, kAllTypes) {
  const Tensor condition = tensor_of({1, 0, 0, 1}, {2, 2}, boolean), row = tensor_of({1, 0}, {2}, boolean);
  const Tensor a = tensor_of({1, 0, 1, 1}, {2, 2}, dtype), b = tensor_of({0, 1, 0, 0}, {2, 2}, dtype);
  const Tensor column = tensor_of({1, 0}, {2, 1}, dtype), one = tensor_of({1}, {}, dtype);
  expect_tensor(ops::where(condition, a, b), dtype, {2, 2}, {1, 1, 0, 1});
  expect_tensor(ops::where(row, a, b), dtype, {2, 2}, {1, 1, 1, 0});
  expect_tensor(ops::where(condition, one, b), dtype, {2, 2}, {1, 1, 0, 1});
  expect_tensor(ops::where(condition, a, column), dtype, {2, 2}, {1, 1, 0, 1});
  expect_tensor(ops::where(condition, one, column), dtype, {2, 2}, {1, 1, 0, 1});
  expect_tensor(ops::where(row, column, one), dtype, {2, 2}, {1, 1, 0, 1});
  expect_tensor(ops::where(tensor_of({1}, {}, boolean), a, b), dtype, {2, 2}, {1, 0, 1, 1});
}
COHORT_OP_GRADIENT(Select, broadcasts) {
  const Tensor condition = tensor_of({1, 0, 0, 1, 1, 0}, {3, 2}, boolean);
  check_gradient([&](const Tensors& x) { return ops::where(x[0] > x[1] * 0.0, x[0], x[1]); },
                 {spread_tensor({3, 2}, -1, 1), spread_tensor({1, 2}, -1, 1, float64, 9)});
}

TEST(Clip, HoldsValuesAndPassesGradientsWithinTheBounds) {
  const Tensor x = tensor_of({-2, -1, 0, 1, 2}, {5});
  expect_tensor(ops::clip(x, -1, 1), float64, {5}, {-1, -1, 0, 1, 1});
  GradientTape tape;
  tape.watch(x);
  expect_values(tape.gradient(ops::clip(x, -1, 1), x), {0, 1, 1, 1, 0}, 0);
}

TEST(Kinks, AreThoseOfTensorFlow) {
  const Tensor zero = tensor_of({0}, {1}), other = tensor_of({0}, {1});
  const auto derivative = [&](const std::function<Tensor()>& function, const Tensor& source) {
    GradientTape tape;
    tape.watch(zero);
    tape.watch(other);
    const Tensor y = function();
    return tape.gradient(y, source).item<double>();
  };
  EXPECT_EQ(derivative([&] { return ops::relu(zero); }, zero), 0);
  EXPECT_EQ(derivative([&] { return ops::abs(zero); }, zero), 0);
  EXPECT_EQ(derivative([&] { return ops::maximum(zero, other); }, zero), 1);
  EXPECT_EQ(derivative([&] { return ops::maximum(zero, other); }, other), 0);
  EXPECT_EQ(derivative([&] { return ops::minimum(zero, other); }, zero), 1);
  EXPECT_EQ(derivative([&] { return ops::relu6(zero + 6.0); }, zero), 0);
}

TEST(BinaryTypes, MeetAsInKeras) {
  const Tensor whole = tensor_of({1, 2}, {2}, int32), real = tensor_of({1, 2}, {2}, float32);
  const Tensor half = tensor_of({1, 2}, {2}, float16), flag = tensor_of({1, 0}, {2}, boolean);
  EXPECT_EQ((whole + real).dtype(), float32);
  EXPECT_EQ((half + whole).dtype(), float16);
  EXPECT_EQ((flag + flag).dtype(), int32);
  EXPECT_EQ((whole / whole).dtype(), float32);
  EXPECT_EQ((half * 2.5).dtype(), float16);
  EXPECT_EQ((whole * 2).dtype(), int32);
  EXPECT_EQ((whole * 2.5).dtype(), float32);
  EXPECT_EQ((2.0f - real).dtype(), float32);
  EXPECT_EQ(ops::logical_and(whole, real).dtype(), boolean);
}

TEST(BinaryErrors, NameTheOpAndTheShapes) {
  const Tensor a = tensor_of({1, 2}, {2}), b = tensor_of({1, 2, 3}, {3});
  expect_error([&] { a + b; }, {"Add: ", "a.shape=(2,)", "b.shape=(3,)"});
  expect_error([&] { ops::where(a > 0.0, a, Tensor::of_strings({"x"}, {1})); }, {"promote: "});
}

TEST(BinaryIntegers, DoNotTrapOrTrip) {
  const Tensor lowest = Tensor::of<std::int32_t>({std::numeric_limits<std::int32_t>::min()}, {1});
  const Tensor minus_one = tensor_of({-1}, {1}, int32), zero = tensor_of({0}, {1}, int32);
  EXPECT_EQ(ops::floor_divide(lowest, minus_one).item<std::int32_t>(), std::numeric_limits<std::int32_t>::min());
  EXPECT_EQ(ops::mod(lowest, minus_one).item<std::int32_t>(), 0);
  EXPECT_EQ(ops::floor_divide(minus_one, zero).item<std::int32_t>(), 0);
  EXPECT_EQ(ops::mod(minus_one, zero).item<std::int32_t>(), 0);
  EXPECT_EQ(ops::pow(tensor_of({2}, {1}, int32), minus_one).item<std::int32_t>(), 0);
}

TEST(BinaryNan, WinsInMaximumAndMinimum) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Tensor a = tensor_of({nan, 1, nan}, {3}), b = tensor_of({1, nan, nan}, {3});
  expect_values(ops::maximum(a, b), {nan, nan, nan}, 0);
  expect_values(ops::minimum(a, b), {nan, nan, nan}, 0);
}

TEST(BinaryLarge, RowsAndColumnsSplitAnywhere) {
  const Tensor x = spread_tensor({301, 127}, -1, 1, float32), row = spread_tensor({127}, -1, 1, float32, 5);
  const Tensor column = spread_tensor({301, 1}, -1, 1, float32, 6);
  const auto values = x.to_vector<float>(), rows = row.to_vector<float>(), columns = column.to_vector<float>();
  const auto by_row = (x * row).to_vector<float>(), by_column = (x * column).to_vector<float>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(by_row[i], values[i] * rows[i % 127]) << i;
    ASSERT_EQ(by_column[i], values[i] * columns[i / 127]) << i;
  }
}

}  // namespace

#undef BINARY_CASE
#undef BINARY_GRADIENT
#undef BINARY_REFERENCE

}  // namespace cohort::test
