#include "cohort/ops/image.h"

#include <algorithm>

#include "cohort/core/dispatch.h"
#include "tests/support/op_check.h"

namespace cohort::test {
namespace {

using namespace ops;

const std::vector<std::string> kInterpolations = {"nearest", "bilinear", "bicubic", "lanczos3", "lanczos5", "area"};

COHORT_OP_REFERENCE(Resize, up_and_down, kFloats) {
  const Tensor line = tensor_of({0, 4, 8, 2}, {1, 1, 4, 1}, dtype);
  expect_tensor(resize(line, 1, 2, {.interpolation = "nearest"}), dtype, {1, 1, 2, 1}, {4, 2});
  expect_tensor(resize(line, 1, 2), dtype, {1, 1, 2, 1}, {2, 5});
  expect_tensor(resize(line, 2, 8), dtype, {1, 2, 8, 1}, {0, 1, 3, 5, 7, 6.5, 3.5, 2, 0, 1, 3, 5, 7, 6.5, 3.5, 2});
  expect_tensor(resize(line, 1, 2, {.interpolation = "area"}), dtype, {1, 1, 2, 1}, {2, 5});
  // A triangle twice as wide: (3, 3, 1) / 7 of the inputs around. Shares are float32, as in TensorFlow.
  expect_values(resize(line, 1, 2, {.antialias = true}), {20.0 / 7, 34.0 / 7}, std::max(1e-6, tolerance(dtype)));
}
TEST(Resize, constants_stay_constants) {
  for (const std::string& interpolation : kInterpolations) {
    SCOPED_TRACE(interpolation);
    for (bool antialias : {false, true}) {
      expect_values(resize(Tensor::full({2, 5, 7, 3}, 2.5), 9, 4, {interpolation, antialias}),
                    std::vector<double>(2 * 9 * 4 * 3, 2.5), 1e-5);
    }
  }
}
COHORT_OP_GRADIENT(Resize, every_interpolation) {
  for (const std::string& interpolation : kInterpolations) {
    for (bool antialias : {false, true}) {
      check_gradient(
          [&](const Tensors& x) {
            return resize(x[0], 2, 6, {interpolation, antialias});
          },
          {spread({2, 4, 3, 2})});
    }
  }
}
COHORT_OP_REFERENCE(ResizeGrad, shares_go_back, kFloats) {
  const Tensor like = tensor_of({0, 0, 0, 0}, {1, 1, 4, 1}, dtype);
  expect_tensor(run_op("ResizeGrad", {tensor_of({2, 6}, {1, 1, 2, 1}, dtype), like},
                       {{"height", 1}, {"width", 2}, {"interpolation", "bilinear"}, {"antialias", false}}),
                dtype, {1, 1, 4, 1}, {1, 1, 3, 3});
}
COHORT_OP_GRADIENT(ResizeGrad, of_what_flows_back) {
  check_gradient(
      [](const Tensors& x) {
        return run_op("ResizeGrad", x,
                      {{"height", 2}, {"width", 3}, {"interpolation", "bicubic"}, {"antialias", false}});
      },
      {spread({2, 2, 3, 1}), spread({2, 4, 2, 1}, 2)});
}
TEST(Resize, says_what_is_wrong) {
  expect_error([] { resize(spread({2, 3, 4}), 2, 2); }, {"Resize:", "4 axes", "(2, 3, 4)"});
  expect_error([] { resize(spread({1, 2, 3, 1}), 0, 2); }, {"Resize:", "positive", "height=0"});
  expect_error([] { resize(spread({1, 2, 3, 1}), 2, 2, {.interpolation = "cubic"}); }, {"interpolation", "'cubic'"});
}

Tensor transform(std::vector<double> row) { return tensor_of(row, {1, 8}, float32); }
// Output x shows the input at x + shift.
Tensor shift(double by) { return transform({1, 0, by, 0, 1, 0, 0, 0}); }

COHORT_OP_REFERENCE(AffineTransform, shifts_and_fills, kFloats) {
  const Tensor line = tensor_of({1, 2, 3, 4}, {1, 1, 4, 1}, dtype);
  const auto shifted = [&](double by, const AffineTransformOptions& options) {
    return affine_transform(line, shift(by), options);
  };
  const Shape shape = {1, 1, 4, 1};
  expect_tensor(shifted(1, {.fill_value = 9}), dtype, shape, {2, 3, 4, 9});
  expect_tensor(shifted(0.5, {}), dtype, shape, {1.5, 2.5, 3.5, 2});
  expect_tensor(shifted(-2, {.fill_mode = "nearest"}), dtype, shape, {1, 1, 1, 2});
  expect_tensor(shifted(-2, {.fill_mode = "reflect"}), dtype, shape, {2, 1, 1, 2});
  expect_tensor(shifted(3, {.fill_mode = "reflect"}), dtype, shape, {4, 4, 3, 2});
  expect_tensor(shifted(-1, {.fill_mode = "wrap"}), dtype, shape, {4, 1, 2, 3});
  expect_tensor(shifted(0.4, {.interpolation = "nearest"}), dtype, shape, {1, 2, 3, 4});
}
TEST(AffineTransform, turns_images_one_by_one) {
  // The second image by a quarter: output (x, y) shows input (1 - y, x).
  const Tensor images = tensor_of({1, 2, 3, 4, 1, 2, 3, 4}, {2, 2, 2, 1});
  const Tensor both = tensor_of({1, 0, 0, 0, 1, 0, 0, 0, 0, -1, 1, 1, 0, 0, 0, 0}, {2, 8}, float32);
  expect_tensor(affine_transform(images, both), float64, {2, 2, 2, 1}, {1, 2, 3, 4, 2, 4, 1, 3});
}
COHORT_OP_GRADIENT(AffineTransform, every_fill_mode) {
  const Tensor turn = transform({0.9, -0.3, 0.7, 0.2, 1.1, -0.4, 0.01, 0.02});
  for (const char* fill_mode : {"constant", "nearest", "reflect", "wrap"}) {
    for (const char* interpolation : {"bilinear", "nearest"}) {
      check_gradient(
          [&](const Tensors& x) {
            return affine_transform(x[0], turn, {interpolation, fill_mode, 0.5});
          },
          {spread({2, 3, 4, 2})});
    }
  }
}
COHORT_OP_REFERENCE(AffineTransformGrad, shares_go_back, kFloats) {
  const Tensor dy = tensor_of({1, 2, 3, 4}, {1, 1, 4, 1}, dtype);
  expect_tensor(run_op("AffineTransformGrad", {dy, shift(0.5)}), dtype, {1, 1, 4, 1}, {0.5, 1.5, 2.5, 3.5});
}
COHORT_OP_GRADIENT(AffineTransformGrad, of_what_flows_back) {
  check_gradient(
      [](const Tensors& x) {
        return run_op("AffineTransformGrad", {x[0], shift(0.25)});
      },
      {spread({2, 2, 3, 1})});
}
TEST(AffineTransform, says_what_is_wrong) {
  expect_error(
      [] {
        affine_transform(spread({2, 2, 2, 1}), tensor_of({1, 2}, {1, 2}, float32));
      },
      {"AffineTransform:", "8 numbers"});
  expect_error([] { affine_transform(spread({2, 2, 2, 1}), shift(1), {.fill_mode = "mirror"}); }, {"fill_mode=mirror"});
  expect_error(
      [] {
        affine_transform(spread({2, 2, 2, 1}), shift(1), {.interpolation = "cubic"});
      },
      {"interpolation=cubic"});
}

}  // namespace
}  // namespace cohort::test
