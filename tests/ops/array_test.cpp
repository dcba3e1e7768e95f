#include "cohort/ops/array.h"

#include "cohort/core/dispatch.h"
#include "cohort/graph/trace.h"
#include "cohort/ops/math.h"
#include "tests/ops/counted.h"

namespace cohort::test {
namespace {

using namespace ops;

const std::vector<std::int64_t> kSix = {0, 1, 2, 3, 4, 5};

COHORT_OP_REFERENCE(Reshape, infers_and_keeps_axes, kAllTypes) {
  const Tensor x = counted({2, 3}, dtype);
  expect_counted(reshape(x, {3, -1}), dtype, {3, 2}, kSix);
  expect_counted(reshape(x, {-1}), dtype, {6}, kSix);
  expect_counted(reshape(x, {-2, 3, 1}), dtype, {2, 3, 1}, kSix);
  expect_counted(reshape(counted({0, 3}, dtype), {-1, 3}), dtype, {0, 3}, {});
}
COHORT_OP_GRADIENT(Reshape, flattens) {
  check_gradient([](const Tensors& x) { return square(reshape(x[0], {-2, -1})); }, {spread_tensor({2, 3, 2}, -1, 1)});
}
TEST(Reshape, keeps_what_a_trace_knows) {
  const auto shape_after = [](const Shape& from, const std::vector<std::int64_t>& to) {
    Shape result;
    trace({{float32, from}}, [&](const Tensors& x) {
      result = reshape(x[0], to).shape();
      return Tensors{};
    });
    return result;
  };
  EXPECT_EQ(shape_after({kUnknown, 28, 28}, {-2, -1}), (Shape{kUnknown, 784}));
  EXPECT_EQ(shape_after({kUnknown, 28, 28}, {-1, 784}), (Shape{kUnknown, 784}));
  EXPECT_EQ(shape_after({kUnknown, 6}, {-2, 2, -1}), (Shape{kUnknown, 2, 3}));
}
TEST(Reshape, refuses_another_number_of_elements) {
  const Tensor x = counted({2, 3}, float32);
  expect_error([&] { reshape(x, {4, 2}); }, {"Reshape:", "same number of elements", "input.shape=(2, 3)"});
  expect_error([&] { reshape(x, {-1, 4}); }, {"Reshape:", "same number of elements"});
  expect_error([&] { reshape(x, {-1, -1}); }, {"Reshape:", "at most one axis"});
  expect_error([&] { reshape(x, {2, 3, -2}); }, {"Reshape:", "-2"});
}

COHORT_OP_REFERENCE(ReshapeLike, takes_the_other_shape, kAllTypes) {
  expect_counted(reshape_like(counted({2, 3}, dtype), counted({3, 1, 2}, float32)), dtype, {3, 1, 2}, kSix);
}
COHORT_OP_GRADIENT(ReshapeLike, goes_back) {
  check_gradient([](const Tensors& x) { return square(reshape_like(x[0], x[1])); },
                 {spread_tensor({2, 3}, -1, 1), spread_tensor({3, 2}, -1, 1)});
}

COHORT_OP_REFERENCE(ExpandDims, anywhere, kAllTypes) {
  expect_counted(expand_dims(counted({2, 3}, dtype), 0), dtype, {1, 2, 3}, kSix);
  expect_counted(expand_dims(counted({2, 3}, dtype), 1), dtype, {2, 1, 3}, kSix);
  expect_counted(expand_dims(counted({2, 3}, dtype), -1), dtype, {2, 3, 1}, kSix);
}
COHORT_OP_GRADIENT(ExpandDims, last) {
  check_gradient([](const Tensors& x) { return square(expand_dims(x[0], -1)); }, {spread_tensor({2, 3}, -1, 1)});
}

COHORT_OP_REFERENCE(Squeeze, some_or_all, kAllTypes) {
  expect_counted(squeeze(counted({1, 6, 1}, dtype)), dtype, {6}, kSix);
  expect_counted(squeeze(counted({1, 6, 1}, dtype), {-1}), dtype, {1, 6}, kSix);
  expect_error([&] { squeeze(counted({2, 3}, dtype), {1}); }, {"Squeeze:", "size 1", "axis=1"});
}
COHORT_OP_GRADIENT(Squeeze, several_axes) {
  check_gradient([](const Tensors& x) { return square(squeeze(x[0], {1, 3})); }, {spread_tensor({2, 1, 3, 1}, -1, 1)});
}

COHORT_OP_REFERENCE(MergeAxes, in_the_middle_and_none, kAllTypes) {
  expect_counted(merge_axes(counted({1, 2, 3}, dtype), 0, 2), dtype, {2, 3}, kSix);
  expect_counted(merge_axes(counted({2, 3}, dtype), 1, 0), dtype, {2, 1, 3}, kSix);
}
COHORT_OP_GRADIENT(MergeAxes, first_two) {
  check_gradient([](const Tensors& x) { return square(merge_axes(x[0], 0, 2)); }, {spread_tensor({2, 2, 3}, -1, 1)});
}

COHORT_OP_REFERENCE(UnmergeAxis, follows_another, kAllTypes) {
  expect_counted(unmerge_axis(counted({6}, dtype), counted({4, 2, 3}, float32), 0, 1, 2), dtype, {2, 3}, kSix);
}
COHORT_OP_GRADIENT(UnmergeAxis, goes_back) {
  check_gradient([](const Tensors& x) { return square(unmerge_axis(x[0], x[1], 0, 0, 2)); },
                 {spread_tensor({6}, -1, 1), spread_tensor({2, 3}, -1, 1)});
}

COHORT_OP_REFERENCE(Identity, same, kAllTypes) { expect_counted(copy(counted({2, 3}, dtype)), dtype, {2, 3}, kSix); }
COHORT_OP_GRADIENT(Identity, passes) {
  check_gradient([](const Tensors& x) { return square(copy(x[0])); }, {spread_tensor({2, 3}, -1, 1)});
}
COHORT_OP_REFERENCE(StopGradient, same, kAllTypes) {
  expect_counted(stop_gradient(counted({2, 3}, dtype)), dtype, {2, 3}, kSix);
}

COHORT_OP_REFERENCE(Transpose, two_axes_and_three, kAllTypes) {
  expect_counted(transpose(counted({2, 3}, dtype)), dtype, {3, 2}, {0, 3, 1, 4, 2, 5});
  expect_counted(transpose(counted({1, 2, 3}, dtype), {2, 0, -2}), dtype, {3, 1, 2}, {0, 3, 1, 4, 2, 5});
  expect_counted(swapaxes(counted({2, 1, 3}, dtype), 0, -1), dtype, {3, 1, 2}, {0, 3, 1, 4, 2, 5});
  expect_counted(moveaxis(counted({2, 3}, dtype), 0, 1), dtype, {3, 2}, {0, 3, 1, 4, 2, 5});
}
COHORT_OP_GRADIENT(Transpose, three_axes) {
  check_gradient(
      [](const Tensors& x) {
        return square(transpose(x[0], {1, 2, 0}));
      },
      {spread_tensor({2, 3, 2}, -1, 1)});
}
// Larger than a tile, with ragged edges, in every order of four axes.
TEST(Transpose, every_order_of_four_axes) {
  const Shape from = {5, 37, 3, 41};
  const std::vector<double> values = counted(from, float32).to_vector<double>();
  const auto strides = row_major_strides(from);
  std::vector<std::int64_t> perm = {0, 1, 2, 3};
  do {
    const Tensor got = transpose(counted(from, float32), perm);
    const auto axis = [&](int i) { return static_cast<std::size_t>(perm[static_cast<std::size_t>(i)]); };
    const Shape to = got.shape();
    const std::vector<double> moved = got.to_vector<double>();
    std::size_t at = 0;
    bool right = true;
    for (std::int64_t a = 0; a < to[0]; ++a)
      for (std::int64_t b = 0; b < to[1]; ++b)
        for (std::int64_t c = 0; c < to[2]; ++c)
          for (std::int64_t d = 0; d < to[3]; ++d) {
            const std::int64_t source =
                a * strides[axis(0)] + b * strides[axis(1)] + c * strides[axis(2)] + d * strides[axis(3)];
            right = right && moved[at++] == values[static_cast<std::size_t>(source)];
          }
    EXPECT_TRUE(right) << to;
  } while (std::next_permutation(perm.begin(), perm.end()));
}
TEST(Transpose, refuses_what_is_no_permutation) {
  expect_error([] { transpose(counted({2, 3}, float32), {0, 0}); }, {"Transpose:", "once", "axis named twice=0"});
  expect_error([] { transpose(counted({2, 3}, float32), {0}); }, {"Transpose:", "once"});
}

COHORT_OP_REFERENCE(ShapeOf, sizes, kAllTypes) {
  expect_tensor(shape_of(counted({2, 0, 3}, dtype)), int64, {3}, {2, 0, 3});
}
TEST(ShapeOf, knows_an_unknown_batch_when_it_runs) {
  check_traced([](const Tensors& x) { return shape_of(x[0]); }, {counted({4, 3}, float32)});
}

}  // namespace
}  // namespace cohort::test
