#include <gtest/gtest.h>

#include "cohort/data/dataset.h"
#include "cohort/datasets/datasets.h"
#include "cohort/ops/math.h"
#include "cohort/ops/reduce.h"
#include "cohort/variables/variable.h"

namespace cohort {
namespace {

TEST(TracedIterator, AFunctionTakesOneElementACall) {
  const Dataset data = datasets::from_tensor_slices(Tensor::of<float>({1, 2, 3, 4, 5}, {5}, cpu())).batch(2);
  Variable total(Tensor::scalar(0.0), {.name = "total"});
  Function step = function([&](Iterator batches) {
    const auto [x] = batches.next<1>();
    total.assign_add(ops::sum(x));
    return ops::sum(x);
  });
  const Iterator first = data.iterator();
  EXPECT_EQ(Tensor(step(first)).item<float>(), 3);
  EXPECT_EQ(Tensor(step(first)).item<float>(), 7);
  EXPECT_EQ(Tensor(step(first)).item<float>(), 5);  // a smaller last batch, the same trace
  EXPECT_EQ(total.value().item<float>(), 15);
  EXPECT_EQ(step.trace_count(), 1);
  try {
    step(first);
    FAIL() << "the data had ended";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::OutOfRange);
  }
  EXPECT_EQ(Tensor(step(data.iterator())).item<float>(), 3);
  EXPECT_EQ(step.trace_count(), 1);
}

TEST(TracedIterator, TakesSeveralElementsInOrder) {
  const Dataset data = datasets::from_tensor_slices(Tensor::of<float>({1, 2, 3, 4}, {4}, cpu()));
  Function f = function([](Iterator it) {
    const auto [a] = it.next<1>();
    const auto [b] = it.next<1>();
    return a - b * 10.0;
  });
  const Iterator it = data.iterator();
  EXPECT_EQ(Tensor(f(it)).item<float>(), 1 - 20);
  EXPECT_EQ(Tensor(f(it)).item<float>(), 3 - 40);
}

}  // namespace
}  // namespace cohort
