#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cohort/data/iterator.h"
#include "cohort/datasets/datasets.h"
#include "cohort/graph/function.h"
#include "cohort/graph/hoist_iterators.h"
#include "cohort/ops/math.h"

namespace cohort {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

Dataset pairs() {
  return datasets::from_tensor_slices(Tensor::of<float>({1, 2, 3, 4, 5}, {5}),
                                      Tensor::of<float>({10, 20, 30, 40, 50}, {5}));
}

TEST(IteratorInFunction, EachCallTakesTheNextElement) {
  int traced = 0;
  const Function step = function([&](Iterator data) {
    ++traced;
    auto [x, y] = data.next<2>();
    return ops::add(x, y);
  });
  const Iterator batches = pairs().batch(2).iterator();
  EXPECT_THAT(Tensor(step(batches)).to_vector<float>(), testing::ElementsAre(11, 22));
  EXPECT_THAT(Tensor(step(batches)).to_vector<float>(), testing::ElementsAre(33, 44));
  EXPECT_THAT(Tensor(step(batches)).to_vector<float>(), testing::ElementsAre(55)) << "a smaller last batch";
  EXPECT_THROW(step(batches), Error);
  EXPECT_EQ(traced, 1);
  const Iterator again = pairs().batch(3).iterator();
  EXPECT_THAT(Tensor(step(again)).to_vector<float>(), testing::ElementsAre(11, 22, 33))
      << "an iterator of the same spec";
  EXPECT_EQ(traced, 1);
  EXPECT_EQ(Tensor(step(pairs().iterator())).item<float>(), 11) << "of another spec";
  EXPECT_EQ(traced, 2);
}

TEST(IteratorInFunction, OneCallMayTakeSeveralElementsInOrder) {
  const Function step = function([](Iterator data) {
    const Tensor first = data.next<2>()[0], second = data.next<2>()[0];
    return std::tuple(first, second);
  });
  const Results results = step(pairs().iterator());
  EXPECT_EQ(results[0].item<float>(), 1);
  EXPECT_EQ(results[1].item<float>(), 2);
}

TEST(IteratorInFunction, IsANodeOfTheGraph) {
  const Function step = function([](Iterator data) { return data.next<2>()[0]; });
  step(pairs().batch(2).iterator());
  EXPECT_THAT(step.graph().to_string(), HasSubstr("IteratorNext"));
  EXPECT_THAT(step.graph().to_string(), HasSubstr("float32(None,)"));
}

TEST(IteratorInFunction, MayBeCaptured) {
  const Iterator data = pairs().iterator();
  const Function step = function([&](Tensor scale) { return ops::multiply(data.next<2>()[0], scale); });
  EXPECT_EQ(Tensor(step(Tensor::scalar(3))).item<float>(), 3);
  EXPECT_EQ(Tensor(step(Tensor::scalar(3))).item<float>(), 6);
}

TEST(Iterator, RefusesOtherHandles) {
  EXPECT_THAT([] { Iterator().next(); }, ThrowsMessage<Error>(HasSubstr("Dataset::iterator()")));
  EXPECT_THAT([] { Iterator(Tensor::scalar(1)).element_spec(); }, ThrowsMessage<Error>(HasSubstr("handle=float32()")));
}

TEST(IteratorInFunction, ATraceCanBeHadForExamplesAndItsPullsHoisted) {
  const Function step = function([](Tensor scale, Iterator data) {
    auto [x, y] = data.next<2>();
    auto [next_x, next_y] = data.next<2>();
    return scale * (x + y + next_x * next_y);
  });
  const Iterator data = pairs().iterator();
  const TracedGraph traced = step.concrete(Tensors{Tensor::scalar(2), data.handle()});
  EXPECT_EQ(step.trace_count(), 1);
  Graph graph = *traced.graph;
  EXPECT_EQ(hoist_iterators(graph, traced.num_arguments), (std::vector<int>{1, 1}));
  EXPECT_EQ(graph.inputs.size(), 2u + 2u * 2u);
  step(Tensor::scalar(3), data);
  EXPECT_EQ(step.trace_count(), 1) << "the same trace serves the call";
}

}  // namespace
}  // namespace cohort
