// Ways in which replicas of one process reduce.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cohort/cohort.h"
#include "tests/support/error_of.h"
#include "tests/support/in_step_jobs.h"
#include "tests/support/in_step_strategies.h"

namespace cohort::distribute {
namespace {

using cohort::test::cpus;
using cohort::test::error_of;
using cohort::test::expect_near;
using cohort::test::in_step_jobs;
using cohort::test::InStepJob;
using cohort::test::train_in_step;
using cohort::test::TrainedInStep;

TEST(CrossDeviceOps, TrainAsOneDeviceAndTwiceToTheSameBits) {
  const InStepJob job = in_step_jobs()[2];
  const TrainedInStep alone = train_in_step(job, "adam");
  for (const CrossDeviceOps& ops : {CrossDeviceOps(HierarchicalCopyAllReduce()), CrossDeviceOps(ReductionToOneDevice()),
                                    CrossDeviceOps(ReductionToOneDevice("CPU:2"))}) {
    const auto run = [&] {
      const MirroredStrategy strategy(cpus(3), {.cross_device_ops = ops});
      auto scope = strategy.scope();
      return train_in_step(job, "adam");
    };
    const TrainedInStep first = run();
    expect_near(first, alone, 2e-4);
    EXPECT_EQ(first.weights, run().weights);
  }
}

float sum_with(const CrossDeviceOps& ops, const std::vector<float>& numbers) {
  const MirroredStrategy strategy(cpus(static_cast<int>(numbers.size())), {.cross_device_ops = ops});
  std::vector<Element> values;
  for (const float number : numbers) values.emplace_back(Tensor::of(std::vector<float>(2000, number), {2000}));
  const PerReplica sums = strategy.run(
      [](const Tensor& x) { return get_replica_context()->all_reduce(ReduceOp::Sum, x); }, PerReplica(values));
  float sum = 0.0f;
  for (const Tensor& of_replica : strategy.experimental_local_results(sums)) {
    const std::vector<float> elements = of_replica.to_vector<float>();
    sum = elements[0];
    EXPECT_THAT(elements, testing::Each(sum));
  }
  return sum;
}

// What is too small to change a large number is not lost where it meets its like first.
TEST(CrossDeviceOps, AddInTheirOrder) {
  const std::vector<float> numbers{1e8f, 3.0f, -1e8f, 1.0f};
  EXPECT_EQ(sum_with(HierarchicalCopyAllReduce(), numbers), 0.0f);
  EXPECT_EQ(sum_with(HierarchicalCopyAllReduce(), {1e8f, -1e8f, 3.0f}), 3.0f);
  EXPECT_EQ(sum_with(ReductionToOneDevice("CPU:1"), numbers), 1.0f);
  EXPECT_EQ(sum_with({}, numbers), 1.0f);
}

TEST(CrossDeviceOps, RefuseDevicesThatTheyCannotServe) {
  const auto error_with = [](const CrossDeviceOps& ops) {
    return error_of([&] { MirroredStrategy(cpus(2), {.cross_device_ops = ops}); });
  };
  EXPECT_EQ(error_with(NcclAllReduce()),
            "InvalidArgument NcclAllReduce: every replica must compute on a GPU. Received: devices=CPU:0, CPU:1. Leave "
            "cross_device_ops out, or take HierarchicalCopyAllReduce.");
  EXPECT_EQ(error_with(ReductionToOneDevice("CPU:4")),
            "InvalidArgument ReductionToOneDevice: reduce_to_device must be one of the replicas' devices. Received: "
            "reduce_to_device=CPU:4, devices=CPU:0, CPU:1.");
  EXPECT_EQ(error_of([] { HierarchicalCopyAllReduce(0); }),
            "InvalidArgument HierarchicalCopyAllReduce: num_packs must be at least 1. Received: num_packs=0.");
}

}  // namespace
}  // namespace cohort::distribute
