#include "cohort/datasets/sources/generator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cohort/data/broken_source.h"
#include "tests/datasets/positions.h"
#include "tests/datasets/stage_checks.h"
#include "tests/support/error_of.h"

namespace cohort::datasets::test {
namespace {

using cohort::test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;

const ElementSpec kNumber = TensorSpec{DType::Int64, {}};

Tensor number_tensor(std::int64_t value) { return Tensor::of<std::int64_t>({value}, {}); }
// 0, 1, ... below `count`.
GeneratorFactory counting_to(std::int64_t count) {
  return [count] {
    return [count, next = std::int64_t{0}]() mutable -> std::optional<Element> {
      if (next == count) return std::nullopt;
      return number_tensor(next++);
    };
  };
}
COHORT_GENERATOR("test>counting", counting_to(9));

TEST(FromGenerator, EveryPassMakesAGenerator) {
  const Dataset dataset = from_generator(counting_to(3), kNumber);
  EXPECT_EQ(dataset.cardinality(), kUnknownCardinality);
  EXPECT_THAT(numbers(dataset), ElementsAre(0, 1, 2));
  EXPECT_THAT(numbers(dataset.repeat(2)), ElementsAre(0, 1, 2, 0, 1, 2));
  const auto iterator = dataset.make_iterator();
  outcomes(*iterator);
  Tensors element;
  EXPECT_FALSE(iterator->next(element)) << "asked again at the end";
  iterator->rewind();
  ASSERT_TRUE(iterator->next(element));
  EXPECT_EQ(iterator->key(), (ElementKey{1, 0}));
}

TEST(FromGenerator, PassingByAndRestoringEqualWalking) {
  expect_skip_equals_walking(from_generator(counting_to(6), kNumber));
  expect_restores_anywhere(from_generator("test>counting", kNumber));
  const auto longer = from_generator("test>counting", kNumber).make_iterator();
  longer->skip(9);
  EXPECT_EQ(longer->skip(1), 0u);
}

TEST(FromGenerator, AnElementOfAnotherSpecIsAnErrorInItsPlace) {
  const auto factory = [] {
    return [next = 0]() mutable -> std::optional<Element> {
      switch (next++) {
        case 0:
          return number_tensor(5);
        case 1:
          return Tensor::of<std::int64_t>({1, 2}, {2});
        case 2:
          return Tensor::full({}, 1.0);
        case 3:
          return Element::tuple({number_tensor(1)});
        case 4:
          return number_tensor(6);
        default:
          return std::nullopt;
      }
    };
  };
  const Dataset dataset = from_generator(factory, kNumber);
  EXPECT_THAT(numbers_or_errors(*dataset.make_iterator()), ElementsAre(5, -1, -1, -1, 6));
  EXPECT_THAT(numbers(dataset.ignore_errors()), ElementsAre(5, 6));
  expect_skip_equals_walking(dataset);
}

TEST(FromGenerator, AGeneratorThatThrowsCannotGoOn) {
  const auto factory = [] {
    return [next = 0]() mutable -> std::optional<Element> {
      if (next == 2) throw std::runtime_error("the tape is torn");
      return number_tensor(next++);
    };
  };
  const auto iterator = from_generator(factory, kNumber).make_iterator();
  EXPECT_THAT(numbers(*iterator, 2), ElementsAre(0, 1));
  Tensors element;
  for (int i = 0; i < 2; ++i) EXPECT_THROW(iterator->next(element), BrokenSource);
  EXPECT_THROW(iterator->skip(1), BrokenSource);
  EXPECT_THAT(error_of([&] { iterator->next(element); }), HasSubstr("the tape is torn"));
  iterator->rewind();
  EXPECT_THAT(numbers(*iterator, 2), ElementsAre(0, 1));
}

TEST(FromGenerator, TravelsByNameAlone) {
  EXPECT_THAT(numbers(parse_dataset(serialize(from_generator("test>counting", kNumber).take(2)))), ElementsAre(0, 1));
  std::string bytes;
  {
    const Dataset here = from_generator(counting_to(3), kNumber);
    bytes = serialize(here);
    EXPECT_THAT(numbers(parse_dataset(bytes)), ElementsAre(0, 1, 2)) << "in this process, while it lives";
  }
  EXPECT_THAT(error_of([&] { parse_dataset(bytes); }), HasSubstr("register it with COHORT_GENERATOR"));
  EXPECT_THAT(error_of([&] { from_generator("test>nobody", kNumber); }), HasSubstr("name=test>nobody"));
  EXPECT_THAT(error_of([&] { register_generator("test>counting", counting_to(1)); }), HasSubstr("not taken"));
  EXPECT_THROW(from_generator(GeneratorFactory(), kNumber), Error);
}

const PositionsCase kGeneratorCases[] = {
    {"alone", [] { return from_generator("test>counting", kNumber); }},
    {"shuffled", [] { return from_generator("test>counting", kNumber).shuffle(4, {.seed = 1}).batch(2); }},
};
INSTANTIATE_TEST_SUITE_P(FromGenerator, Positions, testing::ValuesIn(kGeneratorCases), name_of_case);

}  // namespace
}  // namespace cohort::datasets::test
