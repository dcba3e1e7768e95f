#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/datasets/elements.h"

namespace cohort {
namespace {

using testing::ElementsAre;

TEST(InputContext, DividesTheBatch) {
  const InputContext context{.num_input_pipelines = 2, .input_pipeline_id = 1, .num_replicas_in_sync = 4};
  EXPECT_EQ(context.get_per_replica_batch_size(64), 16);
  EXPECT_THROW(context.get_per_replica_batch_size(65), Error);
  EXPECT_THROW(context.get_per_replica_batch_size(0), Error);
  const DatasetCreator creator(
      [](const InputContext& c) { return datasets::range(10).shard(c.num_input_pipelines, c.input_pipeline_id); });
  EXPECT_THAT(datasets::test::numbers(creator(context)), ElementsAre(1, 3, 5, 7, 9));
  EXPECT_THROW(DatasetCreator([](const InputContext&) { return Dataset(); })(context), Error);
}

}  // namespace
}  // namespace cohort
