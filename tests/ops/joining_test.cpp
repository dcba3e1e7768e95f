#include "cohort/ops/joining.h"

#include "cohort/graph/trace.h"
#include "cohort/ops/math.h"
#include "tests/ops/counted.h"

namespace cohort::test {
namespace {

using namespace ops;

COHORT_OP_REFERENCE(Concat, along_both_axes, kAllTypes) {
  const Tensor a = counted({2, 2}, dtype), b = counted({2, 1}, dtype);
  expect_counted(concatenate({a, a}, 0), dtype, {4, 2}, {0, 1, 2, 3, 0, 1, 2, 3});
  expect_counted(concatenate({a, b, a}, -1), dtype, {2, 5}, {0, 1, 0, 0, 1, 2, 3, 1, 2, 3});
  expect_counted(concatenate({a}, 0), dtype, {2, 2}, {0, 1, 2, 3});
}
COHORT_OP_GRADIENT(Concat, of_different_sizes) {
  for (int axis : {0, 1}) {
    const Shape second = axis == 0 ? Shape{1, 2} : Shape{3, 1};
    check_gradient([=](const Tensors& x) { return square(concatenate(x, axis)); },
                   {spread({3, 2}, 1), spread(second, 2)}, {.unknown_batch = axis == 1});
  }
}
TEST(Concat, joins_strings) {
  const Tensor a = Tensor::of_strings({"one", "two"}, {2});
  EXPECT_EQ(concatenate({a, a}, 0).to_strings(), (std::vector<std::string>{"one", "two", "one", "two"}));
}
TEST(Concat, refuses_what_does_not_fit) {
  expect_error(
      [] {
        concatenate({counted({2, 2}, float32), counted({3, 1}, float32)}, 1);
      },
      {"Concat:", "equal sizes", "inputs[i].shape=(3, 1)"});
  expect_error([] { concatenate({counted({2}, float32), Tensor::of_strings({"a", "b"}, {2})}); }, {"no common type"});
}

COHORT_OP_REFERENCE(Stack, new_axis, kAllTypes) {
  const Tensor a = counted({2}, dtype);
  expect_counted(stack({a, a}), dtype, {2, 2}, {0, 1, 0, 1});
  expect_counted(stack({a, a}, -1), dtype, {2, 2}, {0, 0, 1, 1});
  expect_counted(unstack(counted({2, 3}, dtype), 3, 1)[2], dtype, {2}, {2, 5});
}
COHORT_OP_GRADIENT(Stack, last) {
  check_gradient([](const Tensors& x) { return square(stack(x, 1)); }, {spread({2, 3}, 1), spread({2, 3}, 2)});
}

COHORT_OP_REFERENCE(Split, given_sizes, kAllTypes) {
  const Tensors parts = split_sizes(counted({2, 4}, dtype), {1, -1}, 1);
  expect_counted(parts[0], dtype, {2, 1}, {0, 4});
  expect_counted(parts[1], dtype, {2, 3}, {1, 2, 3, 5, 6, 7});
}
COHORT_OP_GRADIENT(Split, one_part_unused) {
  check_gradient([](const Tensors& x) { return square(split_sizes(x[0], {1, 2, 1}, 1)[1]); }, {spread({2, 4}, 1)});
}
TEST(Split, refuses_sizes_that_do_not_add_up) {
  expect_error([] { split_sizes(counted({2, 4}, float32), {1, 2}, 1); }, {"Split:", "add up", "sum(sizes)=3"});
}
COHORT_OP_REFERENCE(SplitEvenly, halves, kAllTypes) {
  const Tensors parts = split(counted({2, 4}, dtype), 2, 1);
  expect_counted(parts[0], dtype, {2, 2}, {0, 1, 4, 5});
  expect_counted(parts[1], dtype, {2, 2}, {2, 3, 6, 7});
  expect_error([&] { split(counted({2, 4}, dtype), 3, 1); }, {"SplitEvenly:", "equal parts", "num=3"});
}
COHORT_OP_GRADIENT(SplitEvenly, of_the_batch) {
  check_gradient([](const Tensors& x) { return split(x[0], 2)[0] * split(x[0], 2)[1]; }, {spread({4, 2}, 1)});
}
COHORT_OP_REFERENCE(SplitLike, sizes_of_others, kAllTypes) {
  const Tensors parts = split_like(counted({2, 3}, dtype), {counted({2, 1}, float32), counted({2, 2}, float32)}, 1);
  expect_counted(parts[0], dtype, {2, 1}, {0, 3});
  expect_counted(parts[1], dtype, {2, 2}, {1, 2, 4, 5});
}
COHORT_OP_GRADIENT(SplitLike, one_part) {
  check_gradient(
      [](const Tensors& x) {
        return square(split_like(x[0], {x[1], x[2]}, 0)[1]);
      },
      {spread({3, 2}, 1), spread({1, 2}, 2), spread({2, 2}, 3)});
}

COHORT_OP_REFERENCE(Tile, whole, kAllTypes) {
  expect_counted(tile(counted({1, 2}, dtype), {2, 2}), dtype, {2, 4}, {0, 1, 0, 1, 0, 1, 0, 1});
  expect_counted(tile(counted({2}, dtype), {2, 1}), dtype, {2, 2}, {0, 1, 0, 1});
}
COHORT_OP_GRADIENT(Tile, both_axes) {
  check_gradient([](const Tensors& x) { return square(tile(x[0], {2, 3})); }, {spread({2, 2}, 1)});
}
COHORT_OP_REFERENCE(Repeat, elements, kAllTypes) {
  expect_counted(repeat(counted({2, 2}, dtype), 2, 1), dtype, {2, 4}, {0, 0, 1, 1, 2, 2, 3, 3});
  expect_counted(repeat(counted({2, 2}, dtype), 2, 0), dtype, {4, 2}, {0, 1, 0, 1, 2, 3, 2, 3});
}
COHORT_OP_GRADIENT(Repeat, rows) {
  check_gradient([](const Tensors& x) { return square(repeat(x[0], 3, 0)); }, {spread({2, 2}, 1)});
}
COHORT_OP_REFERENCE(SplitRepeats, opens_a_tiled_axis, kAllTypes) {
  const auto open = [&](bool elements) {
    return run_op("SplitRepeats", {counted({4, 1}, dtype), counted({2, 1}, dtype)},
                  {{"multiples", std::vector<std::int64_t>{2, 1}}, {"elements", elements}});
  };
  expect_counted(open(false), dtype, {2, 2, 1}, {0, 1, 2, 3});
  expect_counted(open(true), dtype, {2, 2, 1}, {0, 1, 2, 3});
}
COHORT_OP_GRADIENT(SplitRepeats, goes_back) {
  check_gradient(
      [](const Tensors& x) {
        return square(run_op("SplitRepeats", {x[0], x[1]},
                             {{"multiples", std::vector<std::int64_t>{1, 2}}, {"elements", false}}));
      },
      {spread({2, 6}, 1), spread({2, 3}, 2)});
}

}  // namespace
}  // namespace cohort::test
