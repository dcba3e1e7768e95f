#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cohort/autodiff/control_flow.h"
#include "cohort/layers/core/dense.h"
#include "cohort/layers/preprocessing/discretization.h"
#include "cohort/layers/preprocessing/normalization.h"
#include "cohort/layers/preprocessing/string_lookup.h"
#include "cohort/ops/array.h"
#include "cohort/ops/cast.h"
#include "cohort/ops/math.h"
#include "cohort/variables/variable.h"
#include "tests/datasets/positions.h"
#include "tests/datasets/stage_checks.h"

namespace cohort::datasets::test {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;
using testing::ThrowsMessage;

Tensor samples() { return Tensor::of<float>({1, 10, 2, 30, 4, 20, 5, 60, 9, 40, 3, 50}, {6, 2}); }

layers::Normalization adapted() {
  const layers::Normalization layer;
  layer.adapt(samples());
  return layer;
}

std::vector<float> values_of(const Dataset& dataset) {
  std::vector<float> values;
  Tensors element;
  for (const auto iterator = dataset.make_iterator(); iterator->next(element);) {
    for (float value : element[0].to_vector<float>()) values.push_back(value);
  }
  return values;
}

// A dataset computes on the CPU, a layer that is called on the default device.
auto close_to(const std::vector<float>& values) { return Pointwise(FloatNear(1e-4f), values); }

TEST(MapLayers, GiveWhatTheyGiveInAModel) {
  const layers::Normalization layer = adapted();
  const std::vector<float> expected = layer(samples()).to_vector<float>();
  ASSERT_NE(expected, samples().to_vector<float>());
  const Dataset rows = from_tensor_slices(samples());
  EXPECT_THAT(values_of(rows.batch(4).map(layer)), close_to(expected));
  EXPECT_THAT(values_of(rows.batch(4).map([&](Tensor x) { return layer(x); })), close_to(expected));
  for (const std::int64_t calls : {0, 1, 2, 8}) {
    const MapOptions options{.num_parallel_calls = calls};
    EXPECT_THAT(values_of(rows.batch(2).map(layer, options)), close_to(expected)) << calls;
  }
}

TEST(MapLayers, WorkOnElementsBeforeTheyAreBatched) {
  const layers::Normalization layer = adapted();
  const auto one = [&](Tensor x) { return ops::squeeze(layer(ops::expand_dims(x, {0})), {0}); };
  EXPECT_THAT(values_of(from_tensor_slices(samples()).map(one).batch(4)),
              close_to(layer(samples()).to_vector<float>()));
}

TEST(MapLayers, LeaveTheOtherTensorsOfAnElementAlone) {
  const layers::Normalization layer = adapted();
  const Tensor y = Tensor::of<std::int64_t>({0, 1, 2, 3, 4, 5}, {6});
  const Dataset pairs = from_tensor_slices(samples(), y).batch(3);
  const Dataset mapped = pairs.map([&](Tensor x, Tensor label) { return std::tuple(layer(x), label); });
  EXPECT_THAT(values_of(mapped), close_to(layer(samples()).to_vector<float>()));
  EXPECT_EQ(all(mapped, 1), (std::vector<std::vector<std::int64_t>>{{0, 1, 2}, {3, 4, 5}}));
  EXPECT_THAT([&] { pairs.map(layer); }, ThrowsMessage<Error>(HasSubstr("arguments=1, tensors=2")));
}

TEST(MapLayers, AreReadOnce) {
  const layers::Normalization layer = adapted();
  const std::vector<float> expected = layer(samples()).to_vector<float>();
  const Dataset mapped = from_tensor_slices(samples()).batch(4).map(layer);
  layer.adapt(Tensor::of<float>({100, 200, 300, 500}, {2, 2}));
  EXPECT_THAT(values_of(mapped), close_to(expected));
  EXPECT_NE(layer(samples()).to_vector<float>(), expected);
}

TEST(MapLayers, Travel) {
  std::string sent;
  std::vector<float> expected;
  {
    const layers::Normalization layer = adapted();
    expected = layer(samples()).to_vector<float>();
    sent = serialize(from_tensor_slices(samples()).batch(4).map(layer));
  }
  EXPECT_THAT(values_of(parse_dataset(sent)), close_to(expected));
}

TEST(MapLayers, MayBeLookupsAndBuckets) {
  const layers::StringLookup words({.vocabulary = std::vector<std::string>{"a", "b"}});
  const Dataset text = from_tensor_slices(Tensor::of_strings({"b", "a", "c"}, {3})).batch(3);
  EXPECT_THAT(all(text.map(words)), ElementsAre(ElementsAre(2, 1, 0)));
  const layers::Discretization buckets({.num_bins = 2});
  buckets.adapt(Tensor::of<float>({1, 2, 3, 4, 5, 6, 7, 8}, {8, 1}));
  const Dataset numbers = from_tensor_slices(Tensor::of<float>({1, 8}, {2, 1})).batch(2);
  const Dataset mapped = numbers.map([&](Tensor x) { return ops::cast(buckets(x), DType::Int64); });
  EXPECT_THAT(all(mapped), ElementsAre(ElementsAre(0, 1)));
}

TEST(MapLayers, AreReadInBranchesAndLoopsToo) {
  const Variable step(Tensor::of<std::int64_t>({7}, {}), {.trainable = false, .dtype = DType::Int64});
  const auto f = [&](Tensor x) {
    return ops::cond(
        ops::less(x, 2.0), [&] { return Tensors{ops::add(x, step.value())}; },
        [&] { return Tensors{ops::subtract(x, step.value())}; })[0];
  };
  const Dataset mapped = range(4).map(f);
  write_now(step, Tensor::of<std::int64_t>({1000}, {}));
  EXPECT_THAT(numbers(mapped), ElementsAre(7, 8, -5, -4));
  EXPECT_THAT(numbers(parse_dataset(serialize(mapped))), ElementsAre(7, 8, -5, -4));
  const auto power = [&](Tensor x) {
    return ops::while_loop([&](const Tensors& at) { return ops::less(at[0], step.value()); },
                           [&](const Tensors& at) { return Tensors{ops::add(at[0], ops::add(step.value(), x))}; },
                           {x})[0];
  };
  EXPECT_THAT(numbers(range(3).map(power)), ElementsAre(1000, 1002, 1004));
  EXPECT_THAT(numbers(range(4).filter([&](Tensor x) { return ops::less(ops::multiply(x, 500.0), step.value()); })),
              ElementsAre(0, 1));
}

TEST(MapLayers, MustNotBeTrained) {
  const layers::Dense dense(3, {.name = "head"});
  const Dataset data = from_tensor_slices(samples()).batch(2);
  EXPECT_THAT([&] { data.map(dense); },
              ThrowsMessage<Error>("Dataset.map: the function may use no variables that are trained: their values are "
                                   "read once. Received: variable=head/kernel. Do this in the model instead, or set "
                                   "trainable to false."));
  dense->set_trainable(false);
  EXPECT_THAT(values_of(data.map(dense)), close_to(dense(samples()).to_vector<float>()));
}

TEST(MapLayers, MustNotBeWritten) {
  const Variable count(Tensor::of<std::int64_t>({0}, {}), {.name = "count", .trainable = false, .dtype = DType::Int64});
  const auto counts = [&](Tensor x) {
    Variable(count).assign_add(x);
    return x;
  };
  EXPECT_THAT([&] { range(3).map(counts); }, ThrowsMessage<Error>(HasSubstr("may not write to variables")));
  const Iterator iterator = range(3).iterator();
  EXPECT_THAT([&] { range(3).map([&](Tensor x) { return ops::add(x, iterator.next().leaf()); }); },
              ThrowsMessage<Error>(HasSubstr("neither iterators nor tensors of another trace")));
}

Dataset hundredfold(const Dataset& input, MapOptions options) {
  const layers::Normalization layer({.axis = {}, .mean = NestedNumbers(0.0), .variance = NestedNumbers(1e-4)});
  const Variable one(Tensor::of<std::int64_t>({1}, {}), {.trainable = false, .dtype = DType::Int64});
  return input.map([&](Tensor x) { return ops::add(ops::cast(ops::round(layer(x)), DType::Int64), one.value()); },
                   options);
}

const PositionsCase kLayerCases[] = {
    {"elements", [] { return hundredfold(range(9), {}); }},
    {"batches_in_parallel", [] { return hundredfold(range(9).batch(2), {.num_parallel_calls = 4}); }},
};
INSTANTIATE_TEST_SUITE_P(MapLayers, Positions, testing::ValuesIn(kLayerCases), name_of_case);

TEST(MapLayers, AllocateNothingInTheSteadyState) {
  const layers::Normalization layer = adapted();
  expect_a_steady_state(from_tensor_slices(samples()).batch(1).map(layer));
}

}  // namespace
}  // namespace cohort::datasets::test
