// A stage of the data that waits for ever on one worker: the worker is named, and others do its work.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>

#include "cohort/cohort.h"
#include "tests/faults/own_tasks.h"
#include "tests/support/counted_source.h"
#include "tests/support/deadline.h"

namespace cohort::test {
namespace {

using namespace std::chrono_literals;

// As the chief, whose log the test reads.
TEST(StuckStage, DISABLED_Chief) {
  distribute::TFConfigClusterResolver resolver;
  distribute::ParameterServerStrategy strategy(resolver, {.stuck_after = 12.0});
  auto scope = strategy.scope();
  Sequential model({layers::Dense(1)});
  model.compile({.optimizer = optimizers::SGD(0.0), .loss = "mse"});
  const DatasetCreator data([](const InputContext&) {
    return counted_source({.takes = 1ms, .trap = (std::filesystem::current_path() / "trap").string()});
  });
  model.fit(data, {.verbose = 0, .steps_per_epoch = 200});
  const std::int64_t steps = read_now(model.optimizer()->iterations()).item<std::int64_t>();
  EXPECT_EQ(steps, 200);
  std::exit(steps == 200 ? 3 : 1);
}

TEST(StuckStage, ItsWorkerIsNamedAndItsWorkDoneByOthers) {
  const Deadline deadline(90s);
  OwnTasks tasks(3, 1);
  const TemporaryFolder folder;
  const auto begin = std::chrono::steady_clock::now();
  const auto chief = start_own_task(tasks.spec(), "chief", 0, "StuckStage.DISABLED_Chief", folder.path());
  const auto says = [&](const char* what) { return chief->errors().find(what) != std::string::npos; };
  ASSERT_TRUE(becomes_true([&] { return says("is alive and has not begun a step for"); }, 20s)) << chief->errors();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 14s) << "10 s, and what it takes to start";
  EXPECT_EQ(chief->wait(40s), 3) << chief->errors();
  EXPECT_TRUE(says("it counts as lost")) << chief->errors();
}

}  // namespace
}  // namespace cohort::test
