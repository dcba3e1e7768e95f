#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "cohort/ops/cast.h"
#include "cohort/ops/math.h"
#include "cohort/ops/random_ops.h"
#include "cohort/variables/variable.h"
#include "tests/datasets/positions.h"

namespace cohort::datasets::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(Map, RunsATracedFunctionOnEachElement) {
  const Tensor x = Tensor::of<std::uint8_t>({0, 51, 102, 255}, {4}), y = Tensor::of<std::int32_t>({1, 2, 3, 4}, {4});
  int traced = 0;
  const Dataset dataset = from_tensor_slices(x, y).map([&](Tensor image, Tensor label) {
    ++traced;
    return std::tuple(ops::divide(ops::cast(image, DType::Float32), Tensor::scalar(255)), label);
  });
  EXPECT_EQ(to_string(dataset.element_spec()), "(float32(), int32())");
  auto iterator = dataset.make_iterator();
  Tensors element;
  std::vector<float> values;
  while (iterator->next(element)) values.push_back(element[0].item<float>());
  EXPECT_THAT(values, ElementsAre(0.0f, 51.0f / 255, 102.0f / 255, 1.0f));
  EXPECT_EQ(traced, 1);
}

TEST(Map, MayChangeTheStructure) {
  const Dataset dataset = range(4).batch(2).map([](const Element& x) {
    return Element::dict({{"x", x}, {"twice", ops::add(x.leaf(), x.leaf())}});
  });
  EXPECT_EQ(to_string(dataset.element_spec()), "{x: int64(None,), twice: int64(None,)}");
  EXPECT_EQ(all(dataset, 1), (std::vector<std::vector<std::int64_t>>{{0, 2}, {4, 6}}));
  EXPECT_EQ(all(parse_dataset(serialize(dataset)), 1), all(dataset, 1));
}

TEST(Map, KeepsOrderInParallel) {
  for (std::int64_t calls : {std::int64_t{0}, std::int64_t{3}, std::int64_t{64}, kAutotune}) {
    const auto result = numbers(range(50).map([](Tensor x) { return ops::add(x, x); }, {.num_parallel_calls = calls}));
    ASSERT_EQ(result.size(), 50u);
    for (std::int64_t i = 0; i < 50; ++i) EXPECT_EQ(result[static_cast<std::size_t>(i)], 2 * i);
  }
  EXPECT_THROW(range(3).map([](Tensor x) { return x; }, {.num_parallel_calls = -2}), Error);
}

TEST(Map, DrawsByTheNumberOfTheElement) {
  const auto draws = [](const Dataset& dataset) {
    auto iterator = dataset.make_iterator();
    std::vector<float> values;
    Tensors element;
    for (int epoch = 0; epoch < 2; ++epoch, iterator->rewind()) {
      while (iterator->next(element)) values.push_back(element[0].to_vector<float>()[0]);
    }
    return values;
  };
  const auto noise = [](Tensor) { return ops::random_uniform({1}, 0, 1, DType::Float32, 11); };
  const auto alone = draws(range(8).map(noise));
  EXPECT_EQ(std::set<float>(alone.begin(), alone.end()).size(), 16u) << "every element of every epoch has its own";
  EXPECT_EQ(draws(range(8).map(noise, {.num_parallel_calls = 3})), alone);
}

TEST(Map, RefusesWhatCannotTravel) {
  const Variable variable(Tensor::scalar(2));
  EXPECT_THAT([&] { range(3).map([&](Tensor) { return variable.value(); }); },
              ThrowsMessage<Error>(HasSubstr("no variables that are trained")));
  EXPECT_THAT([&] { range(3).map([&](Tensor x, Tensor) { return x; }); },
              ThrowsMessage<Error>("Dataset.map: the function takes one argument for each tensor of an element. "
                                   "Received: arguments=2, tensors=1."));
  EXPECT_THAT([&] { range(3).map([&](Tensor x) { return Tensor::scalar(x.item<float>()); }); },
              ThrowsMessage<Error>(HasSubstr("ops::cond")));
}

Dataset squares(const Dataset& input, MapOptions options) {
  return input.map([](Tensor x) { return ops::multiply(x, x); }, options);
}

const PositionsCase kMapCases[] = {
    {"elements", [] { return squares(range(9), {}); }},
    {"in_parallel", [] { return squares(range(9), {.num_parallel_calls = 4}); }},
};
INSTANTIATE_TEST_SUITE_P(Map, Positions, testing::ValuesIn(kMapCases), name_of_case);

}  // namespace
}  // namespace cohort::datasets::test
