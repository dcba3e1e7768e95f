#include "cohort/data/host_function.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/datasets/positions.h"
#include "tests/datasets/stage_checks.h"

namespace cohort::datasets::test {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

Tensors next_number(const Tensors& x) {
  if (x[0].item<std::int64_t>() == 13) throw invalid_argument("next_number", "another number than 13 is expected");
  return {Tensor::of<std::int64_t>({x[0].item<std::int64_t>() + 1}, {}, cpu())};
}
void twice_in_place(const Tensors& x, Tensors& results) {
  results.resize(1);
  results[0].renew(DType::Int64, {}, cpu());
  *static_cast<std::int64_t*>(results[0].raw()) = 2 * *static_cast<const std::int64_t*>(x[0].raw());
}
Tensors its_key(const Tensors&, const ElementKey& key) {
  return {Tensor::of<std::int64_t>({static_cast<std::int64_t>(100 * key.pass + key.number)}, {}, cpu())};
}
COHORT_HOST_FUNCTION("test>next_number", next_number);
COHORT_HOST_FUNCTION("test>twice", twice_in_place);
COHORT_HOST_FUNCTION("test>its_key", its_key);

const ElementSpec kOneNumber = TensorSpec{DType::Int64, {}};

Dataset mapped(const Dataset& input, const char* name, MapOptions options = {}) {
  return input.apply(map(HostFunction::registered(name, kOneNumber), options));
}

TEST(HostFunction, IsComputedOfEachElement) {
  for (const Dataset& source : rows_and_range(10)) {
    for (const std::int64_t calls : {std::int64_t{0}, std::int64_t{2}, std::int64_t{8}, kAutotune}) {
      const auto result = numbers(mapped(source, "test>next_number", {.num_parallel_calls = calls}));
      EXPECT_EQ(result, numbers(range(1, 11)));
      EXPECT_EQ(all(mapped(source, "test>twice", {.num_parallel_calls = calls}).batch(5)),
                (std::vector<std::vector<std::int64_t>>{{0, 2, 4, 6, 8}, {10, 12, 14, 16, 18}}));
    }
  }
}

TEST(HostFunction, GetsWhatTheElementIsKnownBy) {
  const auto iterator =
      mapped(rows(6).shuffle(6, {.seed = 2}), "test>its_key", {.num_parallel_calls = 3}).make_iterator();
  const auto first = numbers(*iterator);
  EXPECT_THAT(first, testing::UnorderedElementsAre(0, 1, 2, 3, 4, 5));
  iterator->rewind();
  EXPECT_THAT(numbers(*iterator), testing::UnorderedElementsAre(100, 101, 102, 103, 104, 105));
}

TEST(HostFunction, ResultsMustBeAsDeclared) {
  const auto first_of = [](ElementSpec declared) {
    return range(3).apply(map(HostFunction::registered("test>next_number", std::move(declared))));
  };
  Tensors element;
  EXPECT_THAT(
      [&] {
        first_of(TensorSpec{DType::Float32, {}}).make_iterator()->next(element);
      },
      ThrowsMessage<Error>(HasSubstr("declared=float32()")));
  EXPECT_THROW(first_of(TensorSpec{DType::Int64, {2}}).make_iterator()->next(element), Error);
  EXPECT_THROW(first_of(ElementSpec::tuple({kOneNumber, kOneNumber})).make_iterator()->next(element), Error);
  EXPECT_THAT([] { HostFunction::registered("test>nobody", kOneNumber); },
              ThrowsMessage<Error>(HasSubstr("test>next_number")));
}

TEST(HostFunction, ElementsThatFailStayInTheirPlaces) {
  for (const Dataset& source : rows_and_range(16)) {
    for (const std::int64_t calls : {0, 3}) {
      const Dataset data = mapped(source, "test>next_number", {.num_parallel_calls = calls});
      EXPECT_THAT(numbers_or_errors(*data.make_iterator()),
                  testing::ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, -1, 15, 16));
      expect_skip_equals_walking(data);
    }
  }
}

TEST(HostFunction, AsksForNoMemoryInASteadyState) {
  expect_a_steady_state(mapped(range(40), "test>twice"));
  expect_a_steady_state(mapped(range(40), "test>twice", {.num_parallel_calls = 2}), 2);
}

const PositionsCase kHostFunctionCases[] = {
    {"alone", [] { return mapped(range(9), "test>twice"); }},
    {"in_parallel", [] { return mapped(rows(9), "test>next_number", {.num_parallel_calls = 3}); }},
    {"keys", [] { return mapped(range(9).shuffle(3, {.seed = 1}), "test>its_key").batch(2); }},
};
INSTANTIATE_TEST_SUITE_P(HostFunction, Positions, testing::ValuesIn(kHostFunctionCases), name_of_case);

}  // namespace
}  // namespace cohort::datasets::test
