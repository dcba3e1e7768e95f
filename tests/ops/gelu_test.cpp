#include "cohort/ops/gelu.h"

#include <cmath>

#include "cohort/core/dispatch.h"
#include "tests/support/op_check.h"

namespace cohort::test {
namespace {

std::vector<double> plain_gelu(const std::vector<double>& x) {
  std::vector<double> y;
  for (double value : x) y.push_back(value * 0.5 * std::erfc(-value / std::sqrt(2.0)));
  return y;
}

COHORT_OP_REFERENCE(Gelu, near_and_far, kFloats) {
  const std::vector<double> x = {-30, -3, -1, -0.5, 0, 0.25, 1, 2, 5, 30};
  expect_tensor(ops::gelu(tensor_of(x, {2, 5}, dtype), false), dtype, {2, 5}, plain_gelu(x));
}
TEST(Gelu, everywhere) {
  std::vector<double> x = spread_values(20000, -8, 8);
  const Tensor wide = tensor_of(x, {20000}, float32);
  expect_values(ops::gelu(wide, false), plain_gelu(wide.to_vector<double>()), 2e-7);
  const double nan = std::nan("");
  EXPECT_TRUE(std::isnan(ops::gelu(tensor_of({nan}, {1}, float32), false).item<double>()));
}
COHORT_OP_GRADIENT(Gelu, both_sides) {
  check_gradient([](const Tensors& x) { return ops::gelu(x[0], false); }, {spread_tensor({4, 3}, -3, 3)});
}
std::vector<double> plain_gelu_by_tanh(const std::vector<double>& x) {
  std::vector<double> y;
  for (double v : x) y.push_back(v * 0.5 * (1.0 + std::tanh(std::sqrt(2.0 / M_PI) * (v + 0.044715 * v * v * v))));
  return y;
}
COHORT_OP_REFERENCE(Gelu, by_tanh, kFloats) {
  const std::vector<double> x = {-30, -3, -1, -0.5, 0, 0.25, 1, 2, 5, 30};
  expect_tensor(ops::gelu(tensor_of(x, {2, 5}, dtype), true), dtype, {2, 5}, plain_gelu_by_tanh(x));
}
COHORT_OP_GRADIENT(Gelu, by_tanh) {
  check_gradient([](const Tensors& x) { return ops::gelu(x[0], true); }, {spread_tensor({4, 3}, -3, 3)});
}
COHORT_OP_GRADIENT(Gelu, slope_by_tanh) {
  check_gradient(
      [](const Tensors& x) {
        return run_op_all("Gelu", {x[0]}, {{"approximate", true}})[1];
      },
      {spread_tensor({4, 3}, -3, 3)});
}
TEST(Gelu, float_slopes) {
  const Tensor x = spread_tensor({100}, -6, 6, float32);
  const Tensor wide = tensor_of(x.to_vector<double>(), {100}, float64);
  const auto slope = [](const Tensor& at) { return run_op_all("Gelu", {at})[1]; };
  expect_values(slope(x), slope(wide).to_vector<double>(), 3e-7);
}

}  // namespace
}  // namespace cohort::test
