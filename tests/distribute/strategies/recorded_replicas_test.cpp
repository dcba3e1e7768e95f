// Replicas on devices that record: what is recorded, and that it trains the same. Where there is a GPU, NCCL's part in
// it, too.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cohort/cohort.h"
#include "cohort/distribute/strategies/communication.h"
#include "cohort/distribute/strategies/in_step_runner.h"
#include "cohort/distribute/strategies/variables_on_device.h"
#include "cohort/model/fit/training.h"
#include "tests/support/error_of.h"
#include "tests/support/in_step_jobs.h"

namespace cohort::distribute {
namespace {

using cohort::test::in_step_jobs;
using cohort::test::InStepJob;
using cohort::test::train_in_step;
using cohort::test::TrainedInStep;
using cohort::test::values_of;
using cohort::test::waves;
using testing::HasSubstr;

// Replicas in step on any number of devices, one included, whose runners are kept in sight.
class SeenReplicas : public Strategy {
 public:
  SeenReplicas(std::vector<Device*> devices, const Communication& communication, std::int64_t bytes_per_pack = 0)
      : variables_(*devices[0]),
        replicas_(std::make_shared<ReplicaSet>(
            std::move(devices), nullptr,
            ReplicaSetOptions{.group = communication.group, .bytes_per_pack = bytes_per_pack})) {}
  std::unique_ptr<StepRunner> make_runner(std::shared_ptr<Program> program, const RunnerData& data,
                                          const RunnerOptions& options) override {
    return std::make_unique<InStepRunner>(replicas_, std::move(program), data, options);
  }
  int num_replicas_in_sync() const override { return replicas_->size(); }
  const ReplicaContext* replica_context() const override { return &replicas_->context(0); }
  VariableCreator* variable_creator() override { return &variables_; }

 private:
  VariablesOnDevice variables_;
  const std::shared_ptr<ReplicaSet> replicas_;
};

std::vector<Device*> devices_named(const std::vector<std::string>& names) {
  std::vector<Device*> devices;
  for (const std::string& name : names) devices.push_back(&device_named(name));
  return devices;
}

TrainedInStep train_under(const InStepJob& job, const std::vector<std::string>& names) {
  const std::vector<Device*> devices = devices_named(names);
  const StrategyHandle strategy(std::make_shared<SeenReplicas>(devices, choose_communication(devices)));
  auto scope = strategy.scope();
  return train_in_step(job, "adam");
}

struct RunInStep {
  std::int64_t recorded;
  test::WeightValues weights;
};

// 3 executions of 4 steps.
RunInStep run_executions(const std::vector<std::string>& names, std::int64_t bytes_per_pack = 0) {
  const std::vector<Device*> devices = devices_named(names);
  const auto body = std::make_shared<SeenReplicas>(devices, choose_communication(devices), bytes_per_pack);
  const StrategyScope scope(body);
  set_random_seed(7);
  Sequential model({layers::Dense(8, {.activation = "relu"}), layers::Dense(2)});
  model.compile({.optimizer = "adam", .loss = "mse", .steps_per_execution = 4});
  const Dataset data = datasets::from_tensor_slices(waves({48, 6}), waves({48, 2}, 11)).batch(4);
  const auto runner = body->make_runner(model.training().program(Program::Kind::Train), {.dataset = data}, {});
  runner->begin_epoch(0);
  for (std::int64_t first = 0; first < 12; first += 4) EXPECT_EQ(runner->run(first, 4).steps, 4);
  runner->end_epoch();
  return {dynamic_cast<InStepRunner&>(*runner).recorded_steps(), values_of(model)};
}

// Nothing in the first execution; of the second, the step after one that is like it.
constexpr std::int64_t kRecordedOfTwelve = 7;

TEST(RecordedReplicas, BeginLikeStepsByOneLaunch) {
  const RunInStep alone = run_executions({"CPU:0"}), recorded = run_executions({"TEST:0", "TEST:1"});
  EXPECT_EQ(alone.recorded, 0);
  EXPECT_EQ(recorded.recorded, kRecordedOfTwelve);
  test::expect_near({recorded.weights, {}}, {alone.weights, {}}, 1e-5);
}

TEST(RecordedReplicas, TrainAsOneDeviceOnTheWholeBatch) {
  for (const InStepJob& job : in_step_jobs()) {
    SCOPED_TRACE(job.name);
    const TrainedInStep alone = train_in_step(job, "adam");
    test::expect_near(train_under(job, {"TEST:0", "TEST:1"}), alone, 2e-4);
  }
}

TEST(Communication, GoesThroughTheHostWhereADeviceIsNoGpu) {
  const Communication chosen = choose_communication(devices_named({"CPU:0", "CPU:1"}));
  EXPECT_FALSE(chosen.group.join_devices);
  EXPECT_EQ(chosen.chosen, "the host: CPU:0 is no GPU");
}

TEST(Communication, RefusesNcclOnCpus) {
  const SimpleClusterResolver resolver((ClusterSpec()));
  EXPECT_THAT(
      test::error_of([&] { MultiWorkerMirroredStrategy(resolver, {.implementation = "NCCL", .devices = {"CPU:0"}}); }),
      HasSubstr("NCCL is for workers whose devices are GPUs. Received: devices=CPU:0"));
  EXPECT_THAT(test::error_of([&] { MultiWorkerMirroredStrategy(resolver, {.implementation = "MPI"}); }),
              HasSubstr("implementation must be AUTO, RING or NCCL"));
  EXPECT_THAT(test::error_of([&] {
                MultiWorkerMirroredStrategy(resolver, {.devices = {"CPU:0", "CPU:0"}});
              }),
              HasSubstr("each device may be listed once"));
}

// A group of one replica: all of NCCL's way but the wire.
class ReplicaOnAGpu : public testing::Test {
 protected:
  void SetUp() override {
    if (list_physical_devices("GPU").empty()) GTEST_SKIP() << "there is no GPU";
    const Communication chosen = choose_communication(devices_named({"GPU:0"}));
    ASSERT_EQ(chosen.chosen, "NCCL");
  }
};

TEST_F(ReplicaOnAGpu, ReducesInsideOfTheRecording) {
  const RunInStep alone = run_executions({"CPU:0"});
  for (const std::int64_t bytes_per_pack : {0, 100}) {  // all at once, and each layer beside the one before it
    SCOPED_TRACE(bytes_per_pack);
    const RunInStep recorded = run_executions({"GPU:0"}, bytes_per_pack);
    EXPECT_EQ(recorded.recorded, kRecordedOfTwelve);
    test::expect_near({recorded.weights, {}}, {alone.weights, {}}, 1e-4);
  }
}

TEST_F(ReplicaOnAGpu, TrainsAsOneDevice) {
  for (const InStepJob& job : in_step_jobs()) {
    SCOPED_TRACE(job.name);
    test::expect_near(train_under(job, {"GPU:0"}), train_in_step(job, "adam"), 2e-3);
  }
}

// Without a group of devices the values go through the host, which is not recorded.
TEST_F(ReplicaOnAGpu, GoesThroughTheHostToo) {
  const InStepJob job = in_step_jobs()[0];
  const TrainedInStep among_devices = train_under(job, {"GPU:0"});
  for (const std::int64_t bytes_per_pack : {0, 100}) {
    const auto body = std::make_shared<SeenReplicas>(devices_named({"GPU:0"}), Communication(), bytes_per_pack);
    const StrategyScope scope(body);
    test::expect_near(train_in_step(job, "adam"), among_devices, 1e-5);
  }
}

}  // namespace
}  // namespace cohort::distribute
