#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "cohort/cohort.h"
#include "tests/programs/started_command.h"
#include "tests/support/deadline.h"
#include "tests/support/paths.h"
#include "tests/support/process_cluster.h"

namespace cohort {
namespace {

using namespace std::chrono_literals;
using test::StartedCommand;
using test::StartedProgram;
using testing::ContainsRegex;
using testing::HasSubstr;

struct Shown {
  int code = -1;
  std::string output, errors;
};

Shown status_of(std::vector<std::string> arguments, const std::string& tf_config = "") {
  const test::TemporaryFolder folder;
  arguments.insert(arguments.begin(), "status");
  StartedProgram command("cohort", {.arguments = std::move(arguments), .environment = {{"TF_CONFIG", tf_config}}},
                         folder.path());
  Shown shown;
  shown.code = command.wait().value_or(-1);
  shown.output = command.output();
  shown.errors = command.errors();
  return shown;
}

TEST(StatusCommand, ShowsEveryTaskOfARunningJob) {
  const test::Deadline deadline(120s);
  test::ProcessCluster cluster(2, 1);
  const std::string spec = cluster.spec().as_text();
  Shown shown = status_of({"--cluster", spec});
  EXPECT_EQ(shown.code, 0) << shown.errors;
  EXPECT_THAT(shown.output, HasSubstr("no job, 3 of 3 tasks answer"));
  EXPECT_THAT(shown.output, ContainsRegex("worker:1 +127.0.0.1:[0-9]+ +free +- "));

  distribute::ParameterServerStrategy strategy(distribute::SimpleClusterResolver(cluster.spec()),
                                               {.job_name = "night run"});
  auto scope = strategy.scope();
  Sequential model({layers::Dense(1)});
  model.compile({.optimizer = optimizers::SGD(0.0), .loss = "mse", .steps_per_execution = 10});
  // In the middle of an epoch.
  class Asks : public Callback {
   public:
    explicit Asks(std::string spec) : spec_(std::move(spec)) {}
    BatchHooks batch_hooks() const override { return BatchHooks::Every; }
    void on_train_batch_end(std::int64_t batch, Logs&) override {
      if (batch >= 1000 && shown.code < 0) shown = status_of({"--cluster", spec_});
    }
    Shown shown;

   private:
    std::string spec_;
  };
  const auto asks = std::make_shared<Asks>(spec);
  const Dataset data =
      datasets::from_tensor_slices(Tensor::full({4, 2}, 1.0), Tensor::full({4, 1}, 1.0)).batch(1).repeat();
  model.fit(data, {.verbose = 0, .steps_per_epoch = 2000, .callbacks = {Ref<Callback>(asks)}});
  EXPECT_EQ(asks->shown.code, 0) << asks->shown.errors;
  EXPECT_THAT(asks->shown.output, HasSubstr("job night run, 3 of 3 tasks answer"));
  EXPECT_THAT(asks->shown.output, ContainsRegex("ps:0 +127.0.0.1:[0-9]+ +serves +- +[0-9.]+ (us|ms)"));
  EXPECT_THAT(asks->shown.output, ContainsRegex("worker:0 +127.0.0.1:[0-9]+ +(works|idle) +[0-9,]+ +[0-9.]+ (us|ms)"));
  EXPECT_EQ(read_now(model.optimizer()->iterations()).item<std::int64_t>(), 2000);

  // By the address of one of them, and by TF_CONFIG.
  shown = status_of({"--address", cluster.spec().task_address("worker", 1)});
  EXPECT_EQ(shown.code, 0) << shown.errors;
  EXPECT_THAT(shown.output, HasSubstr("job night run, 3 of 3 tasks answer"));
  shown = status_of({}, R"({"cluster": )" + spec + "}");
  EXPECT_EQ(shown.code, 0) << shown.errors;

  {
    const distribute::ParameterServerStrategy other(distribute::SimpleClusterResolver(cluster.spec()),
                                                    {.job_name = "day run"});
    shown = status_of({"--cluster", spec});
    EXPECT_THAT(shown.output, HasSubstr("jobs day run, night run, 3 of 3 tasks answer"));
    EXPECT_THAT(shown.output, ContainsRegex("STATE +JOB +STEPS"));
    EXPECT_THAT(shown.output, ContainsRegex("worker:0 +127.0.0.1:[0-9]+ +idle +night run +[0-9,]+ "));
    EXPECT_THAT(shown.output, ContainsRegex("worker:0 +127.0.0.1:[0-9]+ +idle +day run +- "));
  }

  cluster.worker(1).kill();
  shown = status_of({"--cluster", spec});
  EXPECT_EQ(shown.code, 1);
  EXPECT_THAT(shown.output, HasSubstr("2 of 3 tasks answer"));
  EXPECT_THAT(shown.output, HasSubstr("No answer from worker:1 at " + cluster.spec().task_address("worker", 1) +
                                      ": connection refused"));
  cluster.worker(0).pause();
  const auto begin = std::chrono::steady_clock::now();
  shown = status_of({"--cluster", spec, "--timeout", "0.5"});
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s);
  cluster.worker(0).go_on();
  EXPECT_EQ(shown.code, 1);
  EXPECT_THAT(shown.output, HasSubstr("No answer from worker:0"));
}

TEST(StatusCommand, SaysWhatIsMissing) {
  Shown shown = status_of({});
  EXPECT_EQ(shown.code, 1);
  EXPECT_THAT(shown.errors, HasSubstr("cohort status: it must be known which cluster"));
  shown = status_of({"--cluster", "{"});
  EXPECT_EQ(shown.code, 1);
  EXPECT_THAT(shown.errors, HasSubstr("--cluster: must be JSON"));
  shown = status_of({"--address", "nowhere"});
  EXPECT_EQ(shown.code, 1);
  EXPECT_THAT(shown.errors, HasSubstr("an address must be host:port"));
}

}  // namespace
}  // namespace cohort
