#include "tests/ops/elementwise_check.h"

#include <algorithm>

namespace cohort::test {
namespace {

// What an integer type keeps of a whole number.
double wrapped(double value, DType dtype) {
  if (!is_integer(dtype)) return value;
  return visit_dtype(dtype, [&](auto zero) -> double {
    return static_cast<double>(static_cast<decltype(zero)>(static_cast<std::int64_t>(value)));
  });
}

// Where the operand's element for an element of the broadcast shape lies.
std::size_t position(const Shape& operand, const Shape& shape, std::int64_t index) {
  std::int64_t at = 0, stride = 1;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    const int own = axis - (shape.rank() - operand.rank());
    if (own >= 0) {
      at += operand[own] == 1 ? 0 : index % shape[axis] * stride;
      stride *= operand[own];
    }
    index /= shape[axis];
  }
  return static_cast<std::size_t>(at);
}

}  // namespace

void check_unary(const std::function<Tensor(const Tensor&)>& function, const std::function<double(double)>& reference,
                 DType dtype, double low, double high) {
  const Tensor x = spread_tensor({5, 7}, dtype == uint8 ? std::max(low, 0.0) : low, high, dtype);
  const Tensor y = function(x);
  const DType result = y.dtype() == boolean ? boolean : dtype;
  std::vector<double> want;
  for (double value : x.to_vector<double>()) want.push_back(wrapped(reference(value), result));
  expect_tensor(y, result, {5, 7}, want);
}

void check_binary(const std::function<Tensor(const Tensor&, const Tensor&)>& function,
                  const std::function<double(double, double)>& reference, DType dtype, double low, double high,
                  double b_low, double b_high) {
  if (dtype == uint8) low = std::max(low, 0.0), b_low = std::max(b_low, 0.0);
  const std::vector<std::pair<Shape, Shape>> pairs = {{{4, 6}, {4, 6}},
                                                      {{4, 6}, {6}},
                                                      {{6}, {4, 6}},
                                                      {{4, 6}, {4, 1}},
                                                      {{4, 1}, {1, 6}},
                                                      {{4, 6}, {}},
                                                      {{}, {4, 6}},
                                                      {{2, 1, 3}, {4, 1}},
                                                      {{2, 3, 4}, {3, 1}},
                                                      {{1}, {1, 1}},
                                                      {{2, 0}, {2, 1}},
                                                      {{2, 3, 4}, {2, 1, 4}},
                                                      {{2, 1, 3, 1, 2}, {1, 2, 1, 3, 1}}};
  for (const auto& [a_shape, b_shape] : pairs) {
    SCOPED_TRACE(a_shape.to_string() + " with " + b_shape.to_string());
    const Tensor a = spread_tensor(a_shape, low, high, dtype, 3), b = spread_tensor(b_shape, b_low, b_high, dtype, 4);
    const auto a_values = a.to_vector<double>(), b_values = b.to_vector<double>();
    const Tensor y = function(a, b);
    const DType result = y.dtype() == boolean ? boolean : dtype;
    const Shape shape = broadcast_shapes(a_shape, b_shape, "check_binary");
    std::vector<double> want;
    for (std::int64_t i = 0; i < shape.num_elements(); ++i) {
      const double value = reference(a_values[position(a_shape, shape, i)], b_values[position(b_shape, shape, i)]);
      want.push_back(wrapped(value, result));
    }
    expect_tensor(y, result, shape, want);
  }
}

void check_binary_gradient(const std::function<Tensor(const Tensor&, const Tensor&)>& function, double low, double high,
                           double b_low, double b_high) {
  const std::vector<std::pair<Shape, Shape>> pairs = {{{3, 2}, {3, 2}}, {{3, 2}, {2}}, {{3, 1}, {1, 2}}, {{}, {3, 2}}};
  for (const auto& [a_shape, b_shape] : pairs) {
    SCOPED_TRACE(a_shape.to_string() + " with " + b_shape.to_string());
    check_gradient([&](const Tensors& x) { return function(x[0], x[1]); },
                   {spread_tensor(a_shape, low, high, float64, 3), spread_tensor(b_shape, b_low, b_high, float64, 4)});
  }
}

}  // namespace cohort::test
