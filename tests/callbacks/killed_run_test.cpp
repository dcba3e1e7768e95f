#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <random>

#include "cohort/saving/atomic_file.h"
#include "tests/callbacks/small_run.h"
#include "tests/support/paths.h"

namespace cohort::callbacks {
namespace {

using namespace small_run;

constexpr Setting kSetting{.steps_per_epoch = 7, .repeats = true};
constexpr const char* kFolder = "COHORT_TEST_FOLDER";
constexpr const char* kKillAt = "COHORT_TEST_KILL_AT";

std::string bytes_of(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

// The program that is killed: this test's own binary, started with the two variables set.
TEST(KilledRun, DISABLED_Program) {
  const std::string folder = std::getenv(kFolder);
  int hooks = 0;
  const Outcome outcome =
      train(kSetting, {BackupAndRestore(folder + "/backup", {.save_freq = 2}),
                       make<Watcher>(hooks, std::atoi(std::getenv(kKillAt)), -1, [] { ::kill(::getpid(), SIGKILL); })});
  write_file_atomically(folder + "/result", bytes_of(outcome.state));
}

// Runs it; the status of waitpid.
int run_program(const std::string& folder, int kill_at) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::setenv(kFolder, folder.c_str(), 1);
    ::setenv(kKillAt, std::to_string(kill_at).c_str(), 1);
    ::execl("/proc/self/exe", "callbacks_test", "--gtest_filter=KilledRun.DISABLED_Program",
            "--gtest_also_run_disabled_tests", "--gtest_brief=1", static_cast<char*>(nullptr));
    ::_exit(127);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  return status;
}

TEST(KilledRun, EndsAsIfItHadNeverBeenKilled) {
  const test::TemporaryFolder folder;
  const Outcome whole = train(kSetting, {});
  std::mt19937 random(std::random_device{}());
  for (int kills = 0; kills < 3; ++kills) {
    // At most nine of 28 batches each time: it is never done before the third.
    const int kill_at = std::uniform_int_distribution(1, 9)(random);
    SCOPED_TRACE("killed after " + std::to_string(kill_at) + " batches");
    const int status = run_program(folder.path().string(), kill_at);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
  }
  const int status = run_program(folder.path().string(), -1);
  ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_EQ(read_file(folder.file("result")), bytes_of(whole.state));
}

}  // namespace
}  // namespace cohort::callbacks
