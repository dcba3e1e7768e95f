#include "cohort/ops/slicing.h"

#include "cohort/core/dispatch.h"
#include "cohort/ops/math.h"
#include "tests/ops/counted.h"

namespace cohort::test {
namespace {

using namespace ops;
using Sizes = std::vector<std::int64_t>;

COHORT_OP_REFERENCE(Slice, blocks, kAllTypes) {
  const Tensor x = counted({3, 4}, dtype);
  expect_counted(slice(x, {1, 1}, {2, 2}), dtype, {2, 2}, {5, 6, 9, 10});
  expect_counted(slice(x, {0, 3}, {-1, -1}), dtype, {3, 1}, {3, 7, 11});
  expect_counted(slice(x, {3, 0}, {0, 4}), dtype, {0, 4}, {});
}
COHORT_OP_GRADIENT(Slice, block) {
  check_gradient([](const Tensors& x) { return square(slice(x[0], {0, 1}, {-1, 2})); }, {spread({3, 4})});
}
TEST(Slice, must_lie_inside) {
  expect_error(
      [] {
        slice(counted({3, 4}, float32), {1, 0}, {3, 4});
      },
      {"Slice:", "inside the input", "axis=0, begin=1, size=3"});
}
COHORT_OP_REFERENCE(SliceGrad, puts_back, kNumbers) {
  const Tensor dx = run_op("SliceGrad", {counted({1, 2}, dtype), counted({2, 3}, dtype)},
                           {{"begin", Sizes{1, 1}}, {"size", Sizes{1, 2}}});
  expect_tensor(dx, dtype, {2, 3}, {0, 0, 0, 0, 0, 1});
}
COHORT_OP_GRADIENT(SliceGrad, slices) {
  check_gradient(
      [](const Tensors& x) {
        return square(run_op("SliceGrad", {x[0], x[1]}, {{"begin", Sizes{0, 1}}, {"size", Sizes{-1, 2}}}));
      },
      {spread({2, 2}), spread({2, 3})});
}

COHORT_OP_REFERENCE(StridedSlice, as_python, kAllTypes) {
  const Tensor x = counted({6}, dtype);
  expect_counted(strided_slice(x, {{.begin = 1, .end = 5, .step = 2}}), dtype, {2}, {1, 3});
  expect_counted(strided_slice(x, {{.begin = -2}}), dtype, {2}, {4, 5});
  expect_counted(strided_slice(x, {{.end = -4}}), dtype, {2}, {0, 1});
  expect_counted(strided_slice(x, {{.step = -2}}), dtype, {3}, {5, 3, 1});
  expect_counted(strided_slice(x, {{.begin = 4, .end = 1, .step = -1}}), dtype, {3}, {4, 3, 2});
  expect_counted(strided_slice(x, {{.begin = 2, .end = 100}}), dtype, {4}, {2, 3, 4, 5});
  expect_counted(strided_slice(x, {{.begin = 4, .end = 2}}), dtype, {0}, {});
  expect_counted(strided_slice(counted({2, 3}, dtype), {{}, {.step = -1}}), dtype, {2, 3}, {2, 1, 0, 5, 4, 3});
  expect_counted(take_at(counted({2, 3}, dtype), -1, 1), dtype, {2}, {2, 5});
  expect_counted(flip(counted({2, 3}, dtype)), dtype, {2, 3}, {5, 4, 3, 2, 1, 0});
}
COHORT_OP_GRADIENT(StridedSlice, negative_step) {
  check_gradient(
      [](const Tensors& x) {
        return square(strided_slice(x[0], {{.step = 2}, {.begin = 3, .step = -2}}));
      },
      {spread({3, 5})});
}
COHORT_OP_REFERENCE(StridedSliceGrad, puts_back, kNumbers) {
  const Tensor dx = run_op("StridedSliceGrad", {counted({2}, dtype), counted({4}, dtype)},
                           {{"begin", Sizes{3}}, {"end", Sizes{0}}, {"strides", Sizes{-2}}});
  expect_tensor(dx, dtype, {4}, {0, 1, 0, 0});
}
COHORT_OP_GRADIENT(StridedSliceGrad, slices) {
  check_gradient(
      [](const Tensors& x) {
        return square(
            run_op("StridedSliceGrad", {x[0], x[1]}, {{"begin", Sizes{0}}, {"end", Sizes{4}}, {"strides", Sizes{2}}}));
      },
      {spread({2}), spread({4})});
}

COHORT_OP_REFERENCE(Pad, all_modes, kNumbers) {
  const Tensor x = counted({1, 3}, dtype);
  expect_tensor(pad(x, {{1, 0}, {1, 2}}, "constant", 7), dtype, {2, 6}, {7, 7, 7, 7, 7, 7, 7, 0, 1, 2, 7, 7});
  expect_tensor(pad(x, {{0, 0}, {2, 1}}, "reflect"), dtype, {1, 6}, {2, 1, 0, 1, 2, 1});
  expect_tensor(pad(x, {{0, 0}, {2, 1}}, "symmetric"), dtype, {1, 6}, {1, 0, 0, 1, 2, 2});
}
COHORT_OP_GRADIENT(Pad, all_modes) {
  for (const char* mode : {"constant", "reflect", "symmetric"}) {
    check_gradient([=](const Tensors& x) { return square(pad(x[0], {{0, 0}, {1, 2}}, mode, 0.5)); }, {spread({2, 3})});
  }
}
TEST(Pad, refuses_what_it_cannot_mirror) {
  expect_error([] { pad(counted({1, 3}, float32), {{0, 0}, {3, 0}}, "reflect"); }, {"pad:", "must not exceed"});
  expect_error([] { pad(counted({1, 3}, float32), {{0, 0}, {3, 0}}, "wrap"); }, {"pad:", "mode must be", "mode=wrap"});
  expect_error([] { pad(counted({1, 3}, float32), {{0, 0}}); }, {"pad:", "pair per axis"});
}
COHORT_OP_REFERENCE(PadGrad, cuts_off, kAllTypes) {
  expect_counted(run_op("PadGrad", {counted({2, 4}, dtype)}, {{"before", Sizes{1, 1}}, {"after", Sizes{0, 2}}}), dtype,
                 {1, 1}, {5});
}
COHORT_OP_GRADIENT(PadGrad, pads) {
  check_gradient(
      [](const Tensors& x) {
        return square(run_op("PadGrad", {x[0]}, {{"before", Sizes{0, 1}}, {"after", Sizes{0, 2}}}));
      },
      {spread({2, 5})});
}

COHORT_OP_REFERENCE(Roll, around_the_end, kAllTypes) {
  expect_counted(roll(counted({2, 3}, dtype), 1, 1), dtype, {2, 3}, {2, 0, 1, 5, 3, 4});
  expect_counted(roll(counted({2, 3}, dtype), -4, 1), dtype, {2, 3}, {1, 2, 0, 4, 5, 3});
  expect_counted(roll(counted({3}, dtype), 3, 0), dtype, {3}, {0, 1, 2});
}
COHORT_OP_GRADIENT(Roll, of_the_batch) {
  check_gradient([](const Tensors& x) { return square(roll(x[0], 2, 0)); }, {spread({3, 2})});
}

}  // namespace
}  // namespace cohort::test
