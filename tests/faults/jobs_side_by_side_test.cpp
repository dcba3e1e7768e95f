// Two jobs and three sessions on the same tasks: the chief of one job is killed at any moment, and started again under
// its name; to the others that is nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <future>
#include <random>
#include <sstream>
#include <thread>

#include "cohort/distribute/cluster_status.h"
#include "tests/faults/random_kills.h"
#include "tests/faults/summing.h"
#include "tests/faults/two_totals.h"
#include "tests/support/deadline.h"
#include "tests/support/kills_wanted.h"
#include "tests/support/process_cluster.h"

namespace cohort::test {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kMortalElements = 400;
constexpr int kMortalEpochs = 2;

// The chief that is killed.
TEST(JobsSideBySide, DISABLED_Mortal) {
  const distribute::TFConfigClusterResolver resolver;
  distribute::ParameterServerStrategyOptions options = kOnBothServers;
  options.job_name = "mortal";
  const distribute::ParameterServerStrategy strategy(resolver, options);
  auto scope = strategy.scope();
  SummingModel model;
  model.fit(
      numbers(kMortalElements),
      {.epochs = kMortalEpochs, .verbose = 0, .callbacks = {callbacks::BackupAndRestore("backup", {.save_freq = 25})}});
  std::ofstream("result") << sums_of(model);
}

std::unique_ptr<StartedProgram> start_mortal(const distribute::ClusterSpec& spec, const TemporaryFolder& folder) {
  const std::string cluster = R"({"chief": ["127.0.0.1:1"], )" + spec.as_text().substr(1);
  return std::make_unique<StartedProgram>(
      "tests/faults_test",
      StartedProgramOptions{
          .arguments = {"--gtest_filter=JobsSideBySide.DISABLED_Mortal", "--gtest_also_run_disabled_tests",
                        "--gtest_brief=1"},
          .environment = {{"TF_CONFIG", R"({"cluster": )" + cluster + R"(, "task": {"type": "chief", "index": 0}})"}}},
      folder.path());
}

// How often a session at the task has added to two variables that others add to as well.
int add_until(const std::atomic<bool>& over, const std::string& task_address) {
  const TwoTotals totals("beside jobs");
  distribute::Session session("grpc://" + task_address, totals.graph);
  int times = 0;
  for (; !over; ++times) totals.run(session, 1.0f);
  return times;
}

TEST(JobsSideBySide, OneThatDiesLeavesTheOthersAlone) {
  const int kills = kills_wanted(3);
  const Deadline deadline(std::chrono::seconds(60 + 5 * kills));
  ProcessCluster cluster(2, 2, 0, false, {"--stay"});
  distribute::ParameterServerStrategyOptions options = kOnBothServers;
  options.job_name = "steady";
  std::atomic<bool> over = false;
  std::atomic<int> rounds = 0;
  std::thread steady([&] {
    const distribute::ParameterServerStrategy strategy(distribute::SimpleClusterResolver(cluster.spec()), options);
    for (; !over || rounds < 2; ++rounds) EXPECT_EQ(fit_sums(strategy, 300, 2), expected_sums(300, 2));
  });
  std::vector<std::future<int>> sessions;
  const distribute::ClusterSpec spec = cluster.spec();
  for (const auto& [job, index] : {std::pair("worker", 0), std::pair("worker", 1), std::pair("ps", 1)}) {
    sessions.push_back(std::async(std::launch::async, add_until, std::cref(over), spec.task_address(job, index)));
  }
  std::mt19937 random(std::random_device{}());
  std::stringstream expected;
  expected << expected_sums(kMortalElements, kMortalEpochs);
  int killed = 0, ended = 0;
  for (; killed < kills && !testing::Test::HasFailure(); ++ended) {
    const TemporaryFolder folder;
    auto chief = start_mortal(cluster.spec(), folder);
    while (killed < kills && outlives(*chief, std::chrono::microseconds(random() % 900'000))) {
      chief->signal(SIGKILL);
      if (chief->wait() == 0) break;  // it has ended in the last moment
      ++killed;
      chief = start_mortal(cluster.spec(), folder);
    }
    EXPECT_EQ(chief->wait(60s), 0) << chief->output() << chief->errors();
    EXPECT_EQ(content_of(folder.file("result")), expected.str());
  }
  over = true;
  steady.join();
  float added = 0;
  for (std::future<int>& each : sessions) added += static_cast<float>(each.get());
  const TwoTotals totals("beside jobs");
  distribute::Session reader("grpc://" + spec.task_address("ps", 0), totals.graph);
  EXPECT_EQ(totals.read(reader), (std::vector<float>{added, 2 * added}));
  std::printf("killed %d times in %d jobs, beside %d trainings and %.0f steps of sessions\n", killed, ended,
              rounds.load(), added);
  for (const distribute::TaskStatus& task : distribute::cluster_status(cluster.spec())) {
    EXPECT_EQ(task.problem, "") << task.task;
    EXPECT_TRUE(task.jobs.empty()) << task.task << ": " << task.jobs[0].job;
  }
}

TEST(JobsSideBySide, AWorkerThatDiesComesBackToEachOfThem) {
  const Deadline deadline(60s);
  ProcessCluster cluster(2, 2);
  std::atomic<bool> over = false;
  const auto train = [&](const std::string& name) {
    distribute::ParameterServerStrategyOptions options = kOnBothServers;
    options.job_name = name;
    const distribute::ParameterServerStrategy strategy(distribute::SimpleClusterResolver(cluster.spec()), options);
    for (int round = 0; round < 2 || !over; ++round) EXPECT_EQ(fit_sums(strategy, 300), expected_sums(300)) << name;
  };
  std::thread day(train, "day"), night(train, "night");
  for (int time = 0; time < 3; ++time) {
    std::this_thread::sleep_for(200ms);
    cluster.worker(time % 2).kill();
    cluster.worker(time % 2).start();
  }
  const auto are_everywhere = [&] {
    const auto tasks = distribute::cluster_status(cluster.spec());
    return std::all_of(tasks.begin(), tasks.end(), [](const auto& task) { return task.jobs.size() == 2; });
  };
  EXPECT_TRUE(becomes_true(are_everywhere));
  over = true;
  day.join();
  night.join();
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(cluster.server(i).ends_well(5)) << cluster.server(i).output();
    EXPECT_TRUE(cluster.worker(i).ends_well(5)) << cluster.worker(i).output();
  }
}

}  // namespace
}  // namespace cohort::test
