#include "cohort/ops/functions.h"

#include <cmath>

#include "cohort/autodiff/tape.h"
#include "cohort/ops/cast.h"
#include "tests/support/op_check.h"

namespace cohort::test {
namespace {

using namespace ops;

TEST(Fmod, keeps_integers_exact) {
  expect_tensor(fmod(tensor_of({7, -7, 2147483647, -100000001}, {4}, int32), tensor_of({3, 3, 10, -7}, {4}, int32)),
                int32, {4}, {1, -1, 7, -3});
  expect_tensor(fmod(tensor_of({200, 7}, {2}, uint8), tensor_of({7, 3}, {2}, uint8)), uint8, {2}, {4, 1});
  expect_tensor(fmod(tensor_of({-100, 7}, {2}, int8), tensor_of({7, -3}, {2}, int8)), int8, {2}, {-2, 1});
  const Tensor large = Tensor::of<std::int64_t>({9007199254740993}, {1});
  expect_tensor(fmod(large, Tensor::of<std::int64_t>({10}, {1})), int64, {1}, {3});
  expect_tensor(fmod(tensor_of({7}, {1}, int32), tensor_of({2.5}, {1}, float32)), float32, {1}, {2});
}
TEST(Fmod, of_large_quotients_and_of_either_sign) {
  const Tensor x = tensor_of({1e10, -1e10, 5.5, -5.5, 1}, {5}, float32);
  expect_tensor(fmod(x, tensor_of({3, 3, -2, 2, INFINITY}, {5}, float32)), float32, {5}, {1, -1, 1.5, -1.5, 1});
  for (const double value : fmod(tensor_of({5, INFINITY}, {2}), tensor_of({0, 2}, {2})).to_vector<double>()) {
    EXPECT_TRUE(std::isnan(value));
  }
  check_gradient([](const Tensors& v) { return fmod(v[0], v[1]); },
                 {tensor_of({5.5, -5.5, 7.25}, {3}), tensor_of({2, 2, -3}, {3})});
}

TEST(Hypot, of_large_and_small_numbers) {
  const Tensor x = tensor_of({3e19, 0, INFINITY, -INFINITY}, {4}, float32);
  const std::vector<float> lengths = hypot(x, tensor_of({4e19, 0, 1, INFINITY}, {4}, float32)).to_vector<float>();
  EXPECT_FLOAT_EQ(lengths[0], 5e19f);
  EXPECT_EQ(lengths[1], 0.0f);
  EXPECT_EQ(lengths[2], INFINITY);
  EXPECT_EQ(lengths[3], INFINITY);
  const Tensor tiny = hypot(tensor_of({3e-30}, {1}, float32), tensor_of({4e-30}, {1}, float32));
  EXPECT_FLOAT_EQ(tiny.to_vector<float>()[0], 5e-30f);
  EXPECT_EQ(hypot(tensor_of({3}, {1}, int32), tensor_of({4}, {1}, int32)).dtype(), float32);
  expect_tensor(hypot(tensor_of({3}, {1}, int64), tensor_of({4}, {1}, int64)), float64, {1}, {5});
}
TEST(Hypot, has_a_gradient_everywhere) {
  check_gradient([](const Tensors& v) { return hypot(v[0], v[1]); },
                 {tensor_of({3, -1, 0, 2}, {4}), tensor_of({4, 0.5, 2, 2}, {4})}, {.tolerance = 1e-5});
  const Tensor zero = tensor_of({0}, {1});
  GradientTape tape;
  tape.watch(zero);
  expect_values(tape.gradient(hypot(zero, zero), zero), {0}, 0);
}

TEST(Heaviside, of_integers_is_floating) {
  const Tensor steps = heaviside(tensor_of({-2, 0, 3}, {3}, int32), tensor_of({0.5}, {1}, float32));
  expect_tensor(steps, float32, {3}, {0, 0.5, 1});
  expect_tensor(heaviside(tensor_of({-2, 0, 3}, {3}, int32), tensor_of({7}, {1}, int32)), float32, {3}, {0, 7, 1});
  expect_tensor(heaviside(tensor_of({0, 1}, {2}, int64), tensor_of({7}, {1}, int64)), float64, {2}, {7, 1});
  expect_tensor(heaviside(tensor_of({NAN}, {1}), tensor_of({0.5}, {1})), float64, {1}, {0.5});
}

TEST(Isclose, of_integers_is_equality) {
  const Tensor a = tensor_of({100000, 5}, {2}, int32);
  expect_tensor(isclose(a, tensor_of({100001, 5}, {2}, int32), 0.5), boolean, {2}, {0, 1});
  expect_tensor(isclose(a, tensor_of({100000.5, 6}, {2}, float32)), boolean, {2}, {1, 0});
}
TEST(Isclose, of_infinities_is_as_in_keras) {
  const Tensor a = tensor_of({INFINITY, -INFINITY, 1, NAN}, {4}), b = tensor_of({INFINITY, -INFINITY, 1, NAN}, {4});
  expect_tensor(isclose(a, b), boolean, {4}, {0, 0, 1, 0});
  expect_tensor(isclose(a, b, 1e-5, 1e-8, true), boolean, {4}, {0, 0, 1, 1});
}

TEST(SaturateCast, of_every_float_to_int32) {
  for (const DType dtype : {bfloat16, float32, float64}) {
    SCOPED_TRACE(to_string(dtype));
    expect_tensor(saturate_cast(tensor_of({3e9, -3e9, 1000}, {3}, dtype), int32), int32, {3},
                  {2147483647, -2147483648.0, 1000});
  }
  expect_tensor(saturate_cast(tensor_of({60000, -60000, INFINITY}, {3}, float16), int32), int32, {3},
                {60000, -60000, 2147483647});
}
TEST(SaturateCast, of_floats_to_int64) {
  const Tensor cut = saturate_cast(tensor_of({1e20, -1e20, 5}, {3}, float32), int64);
  expect_tensor(cut, int64, {3}, {0x1p63 - 1024, -0x1p63, 5});
}

}  // namespace
}  // namespace cohort::test
