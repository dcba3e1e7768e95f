#include <gtest/gtest.h>

#include <numeric>

#include "cohort/core/masks.h"
#include "cohort/layers/merging/add.h"
#include "cohort/layers/merging/average.h"
#include "cohort/layers/merging/concatenate.h"
#include "cohort/layers/merging/dot.h"
#include "cohort/layers/merging/maximum.h"
#include "cohort/layers/merging/minimum.h"
#include "cohort/layers/merging/multiply.h"
#include "cohort/layers/merging/subtract.h"
#include "cohort/saving/config_json.h"
#include "tests/layers/counting.h"
#include "tests/support/op_check.h"

namespace cohort::layers {
namespace {

Tensor column(std::vector<float> values) {
  return Tensor::of(values, {1, static_cast<std::int64_t>(values.size()), 1});
}
Tensor mask_of_steps(std::vector<std::uint8_t> values) {
  return test::tensor_of({values.begin(), values.end()}, {1, static_cast<std::int64_t>(values.size())}, boolean);
}
Element both(const Tensor& a, const Tensor& b) { return Element::tuple({a, b}); }

TEST(Merging, InputsWithFewerAxesGetNewOnesAfterTheBatch) {
  const Tensor wide = Tensor::of<float>({1, 2, 3, 4, 5, 6, 7, 8}, {2, 2, 2}),
               narrow = Tensor::of<float>({1, 2, 3, 4}, {2, 2});
  test::expect_values(Add()({wide, narrow}), {2, 4, 4, 6, 8, 10, 10, 12}, 0);
  test::expect_values(Average()({wide, narrow}), {1, 2, 2, 3, 4, 5, 5, 6}, 0);
  test::expect_values(Subtract()({wide, narrow}), {0, 0, 2, 2, 2, 2, 4, 4}, 0);
}

TEST(Merging, MasksLeaveOutWhatDoesNotCount) {
  const Tensor a = column({1, 5, 2, 7}), b = column({3, 4, 9, 8});
  const Element masks = both(mask_of_steps({1, 1, 0, 0}), mask_of_steps({1, 0, 1, 0}));
  // Where only one counts it is taken; where none does, the second's place holds the first.
  test::expect_values(Maximum()({a, b}, {.mask = masks}), {3, 5, 9, 7}, 0);
  test::expect_values(Minimum()({a, b}, {.mask = masks}), {1, 5, 9, 7}, 0);
  test::expect_values(Multiply()({a, b}, {.mask = masks}), {3, 5, 9, 0}, 0);
  test::expect_values(Add()({a, b}, {.mask = masks}), {4, 9, 11, 15}, 0);
  const MaskScope scope;
  test::expect_values(mask_of(Multiply()({a, b}, {.mask = masks})), {1, 1, 1, 0}, 0);
  EXPECT_FALSE(mask_of(Multiply()({a, b}, {.mask = both(mask_of_steps({1, 1, 0, 0}), {})})).defined());
}

TEST(Dot, SumsOverOneAxisOfEach) {
  const Tensor a = Tensor::of<float>({1, 2, 3, 4}, {1, 2, 2}), b = Tensor::of<float>({5, 6}, {1, 2});
  test::expect_tensor(Dot({2, 1})({a, b}), float32, {1, 2}, {17, 39});
  test::expect_tensor(Dot(1)({b, b}), float32, {1, 1}, {61});
  EXPECT_NE(config_to_json(*Dot(1)).find("\"axes\":1"), std::string::npos);
  test::expect_tensor(Dot(1, {.normalize = true})({b, b}), float32, {1, 1}, {1});
}

TEST(Merging, WrongInputsAreErrors) {
  const Tensor x = column({1, 2, 3});
  test::expect_error([&] { Add({.name = "mine"})(x); }, {"Add 'mine'", "list of inputs"});
  test::expect_error([&] { Maximum()({x, column({1, 2})}); }, {"Maximum", "agree or be 1", "(1, 2, 1)"});
  test::expect_error([&] { Multiply()({x, Tensor::full({2, 3, 1}, 1.0)}); }, {"Multiply", "batch size"});
  test::expect_error([&] { Subtract()({x, x, x}); }, {"Subtract", "two inputs", "inputs=3"});
  test::expect_error([&] { Dot({1, 2, 1}); }, {"Dot", "axes"});
  test::expect_error([&] { Dot(0)({x, x}); }, {"Dot", "other than the batch"});
  test::expect_error([&] { Dot({1, 2})({x, x}); }, {"Dot", "one size", "(1, 3, 1)"});
  test::expect_error([&] { Dot(1)({x, x, x}); }, {"Dot", "two inputs"});
}

TEST(Merging, InputsAreJoinedOrAdded) {
  const Tensors inputs = {counting({2, 2}), counting({2, 1})};
  test::expect_tensor(Concatenate()(inputs), DType::Float32, {2, 3}, {0, 1, 0, 2, 3, 1});
  test::expect_values(Add()(Tensors{counting({2, 2}), counting({2, 2})}), {0, 2, 4, 6}, 0);
  EXPECT_EQ(Add()(Tensors{counting({2, 3, 2}), counting({2, 2})}).shape(), Shape({2, 3, 2}));
  test::expect_error(
      [] {
        Concatenate({.axis = 0})(Tensors{counting({2, 2}), counting({2, 3})});
      },
      {"Concatenate", "(2, 2)", "(2, 3)"});
}

}  // namespace
}  // namespace cohort::layers
