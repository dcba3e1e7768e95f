#include "cohort/data/dataset_creator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/datasets/elements.h"

namespace cohort {
namespace {

using testing::ElementsAre;

TEST(DatasetCreator, DividesWhatItsFunctionGivesIfAskedTo) {
  const auto make = [](const InputContext&) { return datasets::range(7); };
  const InputContext second{.num_input_pipelines = 3, .input_pipeline_id = 1};
  EXPECT_THAT(datasets::test::numbers(DatasetCreator(make)(second)), ElementsAre(0, 1, 2, 3, 4, 5, 6));
  const DatasetCreator divided(make, {.num_input_pipelines = 3, .auto_shard_policy = AutoShardPolicy::Data});
  EXPECT_THAT(datasets::test::numbers(divided(second)), ElementsAre(1, 4));
  EXPECT_EQ(divided.input_options().num_input_pipelines, 3);
  EXPECT_THROW(DatasetCreator(make, {.auto_shard_policy = AutoShardPolicy::File})(second), Error);
}

TEST(DatasetCreator, RefusesNumbersThatAreNone) {
  const auto make = [](const InputContext&) { return datasets::range(7); };
  EXPECT_THROW(DatasetCreator(make, {.num_input_pipelines = -1}), Error);
  EXPECT_THROW(DatasetCreator(make, {.num_input_pipelines = std::int64_t{1} << 40}), Error);
  EXPECT_THROW(DatasetCreator(nullptr), Error);
}

}  // namespace
}  // namespace cohort
