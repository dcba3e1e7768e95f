#include "cohort/datasets/utilities/timeseries_dataset_from_array.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "tests/datasets/positions.h"
#include "tests/datasets/skipping.h"
#include "tests/datasets/stage_checks.h"
#include "tests/support/error_of.h"

namespace cohort::datasets::test {
namespace {

using cohort::test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;
using utils::timeseries_dataset_from_array;
using utils::TimeseriesOptions;

Tensor steps_from(std::int64_t first, std::int64_t count) {
  std::vector<std::int64_t> values(static_cast<std::size_t>(count));
  std::iota(values.begin(), values.end(), first);
  return Tensor::of(values, {count});
}

// Made with Keras 3.15.
TEST(Timeseries, GivesTheWindowsThatKerasGives) {
  const Dataset dataset = timeseries_dataset_from_array(
      steps_from(0, 20), steps_from(100, 20), 4,
      {.sequence_stride = 2, .sampling_rate = 3, .batch_size = 0, .start_index = 1, .end_index = 18});
  EXPECT_THAT(all(dataset), ElementsAre(ElementsAre(1, 4, 7, 10), ElementsAre(3, 6, 9, 12), ElementsAre(5, 8, 11, 14),
                                        ElementsAre(7, 10, 13, 16)));
  EXPECT_THAT(all(dataset, 1), ElementsAre(ElementsAre(101), ElementsAre(103), ElementsAre(105), ElementsAre(107)));
}

TEST(Timeseries, BatchesHoldTheSameWindows) {
  const Tensor data = Tensor::of<float>({0, 1, 10, 11, 20, 21, 30, 31}, {4, 2});
  const Dataset dataset = timeseries_dataset_from_array(data, {}, 2, {.batch_size = 2});
  EXPECT_EQ(to_string(dataset.element_spec()), "float32(None, 2, 2)");
  EXPECT_THAT(all(dataset), ElementsAre(ElementsAre(0, 1, 10, 11, 10, 11, 20, 21), ElementsAre(20, 21, 30, 31)));
}

// The order of numpy.random.RandomState(5).shuffle over 17 starts, before the epoch's own shuffle.
TEST(Timeseries, StartsAreMixedAsNumpyMixesThem) {
  const Dataset dataset =
      timeseries_dataset_from_array(steps_from(0, 17), {}, 1, {.batch_size = 0, .shuffle = true, .seed = 5});
  ASSERT_EQ(dataset.kind(), "shuffle");
  EXPECT_THAT(numbers(dataset.inputs()[0]), ElementsAre(5, 1, 10, 2, 11, 16, 12, 7, 4, 8, 9, 0, 15, 6, 13, 14, 3));
}

TEST(Timeseries, FewerTargetsThanStartsEndIt) {
  EXPECT_EQ(timeseries_dataset_from_array(steps_from(0, 9), steps_from(0, 3), 2, {.batch_size = 0}).cardinality(), 3);
  EXPECT_EQ(timeseries_dataset_from_array(steps_from(0, 9), {}, 20, {.batch_size = 0}).cardinality(), 0);
}

TEST(Timeseries, ATargetThatIsMissingIsAnErrorInItsPlace) {
  const Dataset dataset =
      timeseries_dataset_from_array(steps_from(0, 9), steps_from(0, 5), 2, {.batch_size = 0, .start_index = 3});
  EXPECT_EQ(dataset.cardinality(), 5);
  const auto iterator = dataset.make_iterator();
  EXPECT_THAT(rest_with_errors(*iterator), ElementsAre(ElementsAre(3, 4), ElementsAre(4, 5), ElementsAre(INT64_MIN),
                                                       ElementsAre(INT64_MIN), ElementsAre(INT64_MIN)));
  expect_passing_by_equals_walking(dataset);
}

TEST(Timeseries, APositionCarriesTheSeedThatWasDrawn) {
  const auto make = [] {
    return timeseries_dataset_from_array(steps_from(0, 40), {}, 2, {.batch_size = 4, .shuffle = true});
  };
  auto first = make().make_iterator(), second = make().make_iterator();
  Tensors element;
  first->next(element);
  second->restore(first->save());
  EXPECT_EQ(rest(*second), rest(*first));
}

TEST(Timeseries, ASteadyStateAllocatesNothing) {
  expect_a_steady_state(timeseries_dataset_from_array(Tensor::full({50, 3}, 1), Tensor::full({50}, 2), 4,
                                                      {.sampling_rate = 2, .batch_size = 8}),
                        2);
}

TEST(Timeseries, RefusesWhatKerasRefuses) {
  const auto error = [](const TimeseriesOptions& options, std::int64_t length = 2) {
    return error_of([&] { timeseries_dataset_from_array(steps_from(0, 9), {}, length, options); });
  };
  EXPECT_THAT(error({.start_index = -1}), HasSubstr("`start_index` must be 0 or greater"));
  EXPECT_THAT(error({.start_index = 9}), HasSubstr("`start_index` must be lower than the length of the data"));
  EXPECT_THAT(error({.start_index = 4, .end_index = 4}), HasSubstr("`end_index` must be higher than `start_index`"));
  EXPECT_THAT(error({.end_index = 9}), HasSubstr("`end_index` must be lower than the length of the data"));
  EXPECT_THAT(error({.end_index = -2}), HasSubstr("`end_index` must be higher than 0"));
  EXPECT_THAT(error({.sampling_rate = 0}), HasSubstr("`sampling_rate` must be higher than 0"));
  EXPECT_THAT(error({.sampling_rate = 9}), HasSubstr("`sampling_rate` must be lower than"));
  EXPECT_THAT(error({.sequence_stride = 0}), HasSubstr("`sequence_stride` must be higher than 0"));
  EXPECT_THAT(error({.sequence_stride = 9}), HasSubstr("`sequence_stride` must be lower than"));
  EXPECT_THAT(error({.shuffle = true, .seed = -1}), HasSubstr("seed"));
  EXPECT_THAT(error({}, 0), HasSubstr("`sequence_length` must be higher than 0"));
}

const PositionsCase kTimeseriesCases[] = {
    {"of_windows", [] { return timeseries_dataset_from_array(steps_from(0, 12), {}, 3, {.batch_size = 0}); }},
    {"of_shuffled_batches",
     [] {
       return timeseries_dataset_from_array(steps_from(0, 30), steps_from(0, 30), 3,
                                            {.sequence_stride = 2, .batch_size = 2, .shuffle = true, .seed = 3});
     }},
};
INSTANTIATE_TEST_SUITE_P(Timeseries, Positions, testing::ValuesIn(kTimeseriesCases), name_of_case);

}  // namespace
}  // namespace cohort::datasets::test
