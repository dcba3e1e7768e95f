#include "cohort/layers/core/einsum_dense.h"

#include <gtest/gtest.h>

#include "cohort/graph/function.h"
#include "cohort/ops/einsum.h"
#include "cohort/ops/math.h"
#include "tests/layers/counting.h"
#include "tests/support/op_check.h"

namespace cohort::layers {
namespace {

// The layer's output with every weight counting from 0, beside einsum's plus the bias.
void expect_einsum(const std::string& equation, const Shape& input, const Shape& output_shape, const char* bias_axes,
                   const Shape& kernel, const Shape& bias) {
  const EinsumDense layer(equation, output_shape, {.bias_axes = std::string(bias_axes)});
  const Tensor x = counting(input);
  layer(x);
  ASSERT_EQ(layer->weights().size(), 2u);
  EXPECT_EQ(layer->weights()[0].shape(), kernel) << equation;
  EXPECT_EQ(layer->weights()[1].shape(), bias) << equation;
  layer->set_weights({counting(kernel), counting(bias)});
  const Tensor expected = ops::einsum(equation, {x, counting(kernel)}) + counting(bias);
  test::expect_tensor(layer(x), DType::Float32, expected.shape(), expected.to_vector<double>());
}

TEST(EinsumDense, ComputesItsEquation) {
  expect_einsum("ab,bc->ac", {2, 3}, {4}, "c", {3, 4}, {4});
  expect_einsum("abc,cd->abd", {2, 3, 4}, {kUnknown, 5}, "d", {4, 5}, {5});
  expect_einsum("abc,cde->abde", {2, 3, 4}, {kUnknown, 2, 3}, "de", {4, 2, 3}, {2, 3});
  expect_einsum("abcd,cde->abe", {2, 3, 2, 4}, {kUnknown, 5}, "e", {2, 4, 5}, {5});
  expect_einsum("...x,xy->...y", {2, 3, 2, 4}, {5}, "y", {4, 5}, {5});
  expect_einsum("ab...,bc->ac...", {2, 3, 4}, {5}, "c", {3, 5}, {5, 1});
  expect_einsum("abc,cde->abde", {2, 3, 4}, {kUnknown, 2, 3}, "d", {4, 2, 3}, {2, 1});
  expect_einsum("abc,bc->ac", {2, 3, 4}, {4}, "c", {3, 4}, {4});
  expect_einsum("abc,cd->adb", {2, 3, 4}, {5, kUnknown}, "d", {4, 5}, {5, 1});
}

TEST(EinsumDense, UnknownBatchesTrace) {
  const EinsumDense layer("abc,cde->abde", {kUnknown, 2, 3}, {.bias_axes = "de"});
  const Function traced =
      function([&](const Tensor& x) { return layer(x); }, {.input_signature = {{float32, {kUnknown, kUnknown, 4}}}});
  const Tensor x = counting({3, 5, 4});
  test::expect_tensor(Tensor(traced(x)), DType::Float32, {3, 5, 2, 3}, layer(x).to_vector<double>());
}

TEST(EinsumDense, WrongEquationsAndShapesAreErrors) {
  test::expect_error([] { EinsumDense("ab,bc", {4}); }, {"EinsumDense", "'ab,bc'", "->"});
  test::expect_error([] { EinsumDense("...b,bc->c", {4}); }, {"EinsumDense", "same side"});
  test::expect_error([] { EinsumDense("ab,bc->ad", {4}); }, {"EinsumDense", "'d'"});
  test::expect_error([] { EinsumDense("ab,bd->a", {4}); }, {"EinsumDense", "kernel's axis 'd'"});
  test::expect_error([] { EinsumDense("ab,bc->ac", {4}, {.bias_axes = "b"}); }, {"bias_axes='b'", "'ac'"});
  test::expect_error(
      [] {
        EinsumDense("abc,cd->abd", {kUnknown, 5}, {.name = "e"})(counting({2, 3}));
      },
      {"EinsumDense 'e'", "(2, 3)"});
  test::expect_error(
      [] {
        EinsumDense("abc,cd->abd", {7, 5}, {.name = "e"})(counting({2, 3, 4}));
      },
      {"EinsumDense 'e'", "axis 'b'", "(2, 3, 4)"});
  const EinsumDense built("ab,bc->ac", {4}, {.name = "f"});
  built(counting({2, 3}));
  test::expect_error([&] { built(counting({2, 5})); }, {"EinsumDense 'f'", "(2, 5)", "(3, 4)"});
}

}  // namespace
}  // namespace cohort::layers
