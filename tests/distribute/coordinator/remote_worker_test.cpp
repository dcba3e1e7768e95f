#include "cohort/distribute/coordinator/remote_worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <mutex>

#include "cohort/cohort.h"
#include "cohort/distribute/cluster/local_cluster_spec.h"
#include "cohort/distribute/worker/task_service.h"
#include "tests/support/error_of.h"

namespace cohort::distribute::test {
namespace {

using cohort::test::error_of;
using testing::AllOf;
using testing::HasSubstr;

// A task whose replies can be changed before the chief sees them.
class TaskWithChangedReplies : public rpc::Service {
 public:
  using Change = std::function<void(Message& reply)>;

  TaskWithChangedReplies(const ClusterSpec& spec, const std::string& job)
      : task_(spec, job, 0, {}), listener_(spec.task_address(job, 0), *this, job + ":0") {}
  ~TaskWithChangedReplies() override { task_.stop(); }

  void handle(const Message& request, Message& reply) override {
    task_.handle(request, reply);
    std::lock_guard lock(mutex_);
    if (change_ && request.head.method == method_) change_(reply);
  }
  void change(Method method, Change change) {
    std::lock_guard lock(mutex_);
    method_ = method;
    change_ = std::move(change);
  }

 private:
  TaskService task_;
  std::mutex mutex_;  // guards what follows
  Method method_ = Method::Echo;
  Change change_;
  rpc::Listener listener_;  // last: nobody calls once it is gone
};

class ChangedReplies : public testing::Test {
 protected:
  const ClusterSpec spec_ = local_cluster_spec({{"worker", 1}, {"ps", 1}});
  TaskWithChangedReplies worker_{spec_, "worker"}, ps_{spec_, "ps"};
  ParameterServerStrategy strategy_{SimpleClusterResolver(spec_)};
};

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
