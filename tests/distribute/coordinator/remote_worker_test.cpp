#include "cohort/distribute/coordinator/remote_worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "cohort/cohort.h"
#include "cohort/distribute/protocol/messages.pb.h"
#include "tests/distribute/coordinator/changed_replies.h"
#include "tests/support/error_of.h"

namespace cohort::distribute::test {
namespace {

using cohort::test::error_of;
using testing::AllOf;
using testing::HasSubstr;

TaskWithChangedReplies::Change with_steps(std::int64_t steps) {
  return [steps](Message& reply) {
    proto::ClosureResultProto result;
    result.ParseFromString(reply.meta);
    result.set_steps(steps);
    reply.meta = result.SerializeAsString();
  };
}

TEST_F(ChangedReplies, AResultOfStepsThatItsClosureDoesNotHaveIsRefused) {
  ClusterCoordinator coordinator(strategy_);
  const Function twice = function([](const Tensor& x) { return x + x; });
  using Limits = std::numeric_limits<std::int64_t>;
  for (const std::int64_t steps : {std::int64_t{-1}, std::int64_t{2}, Limits::min(), Limits::max()}) {
    worker_.change(Method::RunClosure, with_steps(steps));
    const RemoteValue value = coordinator.schedule(twice, {Tensor::scalar(2.0)});
    EXPECT_THAT(
        error_of([&] { value.fetch(); }),
        AllOf(HasSubstr("DataLoss worker:0"), HasSubstr("steps=" + std::to_string(steps) + ", closure.steps=1")));
    EXPECT_THAT(error_of([&] { coordinator.join(); }), HasSubstr("DataLoss worker:0"));
  }
  worker_.change(Method::RunClosure, with_steps(1));
  EXPECT_EQ(Tensor(coordinator.schedule(twice, {Tensor::scalar(2.0)}).fetch()).item<float>(), 4.0f);
}

// Elements that no step took would be given away again, or never.
TEST_F(ChangedReplies, AnEpochDoesNotEndWithSuchAResult) {
  auto scope = strategy_.scope();
  Sequential model({layers::Dense(1)});
  model.compile({.optimizer = "sgd", .loss = "mse", .steps_per_execution = 4});
  const Dataset data = datasets::from_tensor_slices(Tensor::full({8, 2}, 1.0), Tensor::full({8, 1}, 1.0)).batch(1);
  for (const std::int64_t steps : {-1, 5}) {
    worker_.change(Method::RunClosure, with_steps(steps));
    EXPECT_THAT(error_of([&] { model.fit(data, {.verbose = 0}); }),
                AllOf(HasSubstr("DataLoss worker:0"), HasSubstr("closure.steps=4")));
  }
}

}  // namespace
}  // namespace cohort::distribute::test
