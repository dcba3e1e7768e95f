#include <cmath>

#include "cohort/ops/math.h"
#include "tests/ops/elementwise_check.h"

namespace cohort::test {
namespace {

#define UNARY_REFERENCE(Name, function, dtypes, low, high, expression)                             \
  COHORT_OP_REFERENCE(Name, values, dtypes) {                                                      \
    check_unary([](const Tensor& x) { return ops::function(x); },                                  \
                []([[maybe_unused]] double x) -> double { return expression; }, dtype, low, high); \
  }
#define UNARY_GRADIENT(Name, function, low, high)                                                             \
  COHORT_OP_GRADIENT(Name, values) {                                                                          \
    check_gradient([](const Tensors& x) { return ops::function(x[0]); }, {spread_tensor({3, 2}, low, high)}); \
  }
#define UNARY_CASE(Name, function, dtypes, low, high, expression) \
  UNARY_REFERENCE(Name, function, dtypes, low, high, expression)  \
  UNARY_GRADIENT(Name, function, low, high)

UNARY_CASE(Negative, negative, kNumbers, -9, 9, -x)
UNARY_CASE(Abs, abs, kNumbers, -9, 9, std::abs(x))
UNARY_REFERENCE(Sign, sign, kNumbers, -2, 2, (x > 0) - (x < 0))
UNARY_CASE(Square, square, kNumbers, -9, 9, (x * x))
UNARY_CASE(Sqrt, sqrt, kFloats, 0.1, 9, std::sqrt(x))
UNARY_CASE(Rsqrt, rsqrt, kFloats, 0.5, 9, 1 / std::sqrt(x))
UNARY_CASE(Reciprocal, reciprocal, kFloats, 0.5, 9, 1 / x)
UNARY_CASE(Exp, exp, kFloats, -4, 3, std::exp(x))
UNARY_CASE(Expm1, expm1, kFloats, -4, 3, std::expm1(x))
UNARY_CASE(Log, log, kFloats, 0.2, 9, std::log(x))
UNARY_CASE(Log1p, log1p, kFloats, -0.5, 9, std::log1p(x))
UNARY_CASE(Log2, log2, kFloats, 0.2, 9, std::log2(x))
UNARY_CASE(Log10, log10, kFloats, 0.2, 9, std::log10(x))
UNARY_CASE(Sin, sin, kFloats, -4, 4, std::sin(x))
UNARY_CASE(Cos, cos, kFloats, -4, 4, std::cos(x))
UNARY_CASE(Tan, tan, kFloats, -1, 1, std::tan(x))
UNARY_CASE(Asin, asin, kFloats, -0.8, 0.8, std::asin(x))
UNARY_CASE(Acos, acos, kFloats, -0.8, 0.8, std::acos(x))
UNARY_CASE(Atan, atan, kFloats, -4, 4, std::atan(x))
UNARY_CASE(Sinh, sinh, kFloats, -2, 2, std::sinh(x))
UNARY_CASE(Cosh, cosh, kFloats, -2, 2, std::cosh(x))
UNARY_CASE(Tanh, tanh, kFloats, -3, 3, std::tanh(x))
UNARY_CASE(Asinh, asinh, kFloats, -4, 4, std::asinh(x))
UNARY_CASE(Acosh, acosh, kFloats, 1.5, 9, std::acosh(x))
UNARY_CASE(Atanh, atanh, kFloats, -0.8, 0.8, std::atanh(x))
UNARY_CASE(Erf, erf, kFloats, -3, 3, std::erf(x))
UNARY_CASE(Erfc, erfc, kFloats, -2, 2, std::erfc(x))
UNARY_REFERENCE(Floor, floor, kFloats, -4, 4, std::floor(x))
UNARY_REFERENCE(Ceil, ceil, kFloats, -4, 4, std::ceil(x))
UNARY_REFERENCE(Round, round, kNumbers, -4, 4, std::nearbyint(x))
UNARY_REFERENCE(Trunc, trunc, kFloats, -4, 4, std::trunc(x))
UNARY_CASE(Sigmoid, sigmoid, kFloats, -4, 4, 1 / (1 + std::exp(-x)))
UNARY_CASE(Softplus, softplus, kFloats, -4, 4, std::log1p(std::exp(x)))
UNARY_CASE(Relu, relu, kNumbers, -4, 4, std::max(x, 0.0))
UNARY_CASE(Relu6, relu6, kNumbers, -4, 9, std::min(std::max(x, 0.0), 6.0))
UNARY_REFERENCE(IsNan, is_nan, kFloats, -4, 4, 0)
UNARY_REFERENCE(IsInf, is_inf, kFloats, -4, 4, 0)
UNARY_REFERENCE(IsFinite, is_finite, kFloats, -4, 4, 1)
UNARY_REFERENCE(LogicalNot, logical_not, kBool, -1, 1, x == 0)

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(UnarySpecialValues, AreThoseOfTheRealFunctions) {
  struct Row {
    const char* name;
    Tensor (*function)(const Tensor&);
    std::vector<double> want;
  };
  const std::vector<double> inputs = {0, -0.0, kInfinity, -kInfinity, kNan, 1, -1};
  const std::vector<Row> rows = {
      {"exp", ops::exp, {1, 1, kInfinity, 0, kNan, M_E, 1 / M_E}},
      {"expm1", ops::expm1, {0, 0, kInfinity, -1, kNan, M_E - 1, 1 / M_E - 1}},
      {"log", ops::log, {-kInfinity, -kInfinity, kInfinity, kNan, kNan, 0, kNan}},
      {"log1p", ops::log1p, {0, 0, kInfinity, kNan, kNan, M_LN2, -kInfinity}},
      {"tanh", ops::tanh, {0, 0, 1, -1, kNan, std::tanh(1), -std::tanh(1)}},
      {"erf", ops::erf, {0, 0, 1, -1, kNan, std::erf(1), -std::erf(1)}},
      {"sigmoid", ops::sigmoid, {0.5, 0.5, 1, 0, kNan, 1 / (1 + 1 / M_E), 1 / (1 + M_E)}},
      {"softplus", ops::softplus, {M_LN2, M_LN2, kInfinity, 0, kNan, std::log1p(M_E), std::log1p(1 / M_E)}},
      {"relu", ops::relu, {0, 0, kInfinity, 0, kNan, 1, 0}},
      {"sign", ops::sign, {0, 0, 1, -1, kNan, 1, -1}},
      {"is_nan", ops::is_nan, {0, 0, 0, 0, 1, 0, 0}},
      {"is_inf", ops::is_inf, {0, 0, 1, 1, 0, 0, 0}},
      {"is_finite", ops::is_finite, {1, 1, 0, 0, 0, 1, 1}}};
  for (const Row& row : rows) {
    for (DType dtype : kFloats) {
      SCOPED_TRACE(std::string(row.name) + " of " + to_string(dtype));
      expect_values(row.function(tensor_of(inputs, {7}, dtype)), row.want, tolerance(dtype));
    }
  }
}

// The float functions are written here, not taken from the C library: they must stay within two units in the last
// place.
TEST(UnaryAccuracy, FloatFunctionsAreWithinTwoUnits) {
  struct Row {
    const char* name;
    Tensor (*function)(const Tensor&);
    double (*truth)(double);
    double low, high;
  };
  const std::vector<Row> rows = {{"exp", ops::exp, std::exp, -86, 88},
                                 {"expm1", ops::expm1, std::expm1, -20, 88},
                                 {"log", ops::log, std::log, 1e-6, 1e6},
                                 {"log near 1", ops::log, std::log, 0.9, 1.1},
                                 {"log1p", ops::log1p, std::log1p, -0.99, 50},
                                 {"log1p near 0", ops::log1p, std::log1p, -1e-3, 1e-3},
                                 {"tanh", ops::tanh, std::tanh, -11, 11},
                                 {"tanh near 0", ops::tanh, std::tanh, -0.1, 0.1},
                                 {"erf", ops::erf, std::erf, -5, 5}};
  for (const Row& row : rows) {
    const Tensor x = spread_tensor({50000}, row.low, row.high, float32);
    const std::vector<float> inputs = x.to_vector<float>(), got = row.function(x).to_vector<float>();
    double worst = 0;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const double truth = row.truth(inputs[i]);
      const float magnitude = std::abs(static_cast<float>(truth));
      const double unit = std::nextafter(magnitude, std::numeric_limits<float>::infinity()) - magnitude;
      worst = std::max(worst, std::abs(got[i] - truth) / unit);
    }
    EXPECT_LE(worst, 2.5) << row.name;
  }
}

TEST(UnaryTypes, FunctionsOfRealsTurnIntegersIntoFloat32) {
  expect_tensor(ops::sqrt(tensor_of({4, 9}, {2}, int32)), float32, {2}, {2, 3});
  expect_tensor(ops::exp(tensor_of({0, 0}, {2}, boolean)), float32, {2}, {1, 1});
  expect_tensor(ops::negative(tensor_of({1, 0}, {2}, boolean)), int32, {2}, {-1, 0});
}

TEST(UnaryTypes, StringsAreRefused) {
  expect_error([] { ops::exp(Tensor::of_strings({"a"}, {1})); }, {"Exp: ", "x.dtype=string"});
}

TEST(UnaryLarge, ManyBlocksGiveTheSameAsOne) {
  const Tensor x = spread_tensor({100003}, -4, 4, float32);
  const std::vector<float> inputs = x.to_vector<float>(), whole = ops::tanh(x).to_vector<float>();
  for (std::size_t i : {std::size_t{0}, std::size_t{16383}, std::size_t{16384}, std::size_t{100002}}) {
    EXPECT_EQ(whole[i], ops::tanh(tensor_of({inputs[i]}, {1}, float32)).item<float>());
  }
}

}  // namespace

#undef UNARY_CASE
#undef UNARY_GRADIENT
#undef UNARY_REFERENCE

}  // namespace cohort::test
