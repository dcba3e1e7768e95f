#include "tests/faults/own_tasks.h"

#include <gtest/gtest.h>

#include "cohort/distribute/cluster/tf_config_cluster_resolver.h"
#include "cohort/distribute/server.h"
#include "tests/support/free_ports.h"

namespace cohort::test {
namespace {

constexpr const char* kServes = "OwnTask.DISABLED_Serves";

// What the processes run.
TEST(OwnTask, DISABLED_Serves) { EXPECT_EQ(distribute::Server(distribute::TFConfigClusterResolver()).join(), 0); }

}  // namespace

std::unique_ptr<StartedProgram> start_own_task(const distribute::ClusterSpec& spec, const std::string& job, int index,
                                               const std::string& test, const std::filesystem::path& folder) {
  // Nobody dials a chief.
  const std::string cluster = R"({"chief": ["127.0.0.1:1"], )" + spec.as_text().substr(1);
  const std::string config =
      R"({"cluster": )" + cluster + R"(, "task": {"type": ")" + job + R"(", "index": )" + std::to_string(index) + "}}";
  return std::make_unique<StartedProgram>(
      "tests/faults_test",
      StartedProgramOptions{
          .arguments = {"--gtest_filter=" + test, "--gtest_also_run_disabled_tests", "--gtest_brief=1"},
          .environment = {{"TF_CONFIG", config}}},
      folder);
}

OwnTasks::OwnTasks(int workers, int servers) {
  const std::vector<std::string> addresses = free_addresses(static_cast<std::size_t>(workers + servers));
  spec_ = distribute::ClusterSpec({{"worker", {addresses.begin(), addresses.begin() + workers}},
                                   {"ps", {addresses.begin() + workers, addresses.end()}}});
  const auto start = [&](const std::string& job, int index) {
    folders_.push_back(std::make_unique<TemporaryFolder>());
    return start_own_task(spec_, job, index, kServes, folders_.back()->path());
  };
  for (int i = 0; i < servers; ++i) servers_.push_back(start("ps", i));
  for (int i = 0; i < workers; ++i) workers_.push_back(start("worker", i));
}

}  // namespace cohort::test
