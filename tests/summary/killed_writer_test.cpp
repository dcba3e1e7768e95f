#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "cohort/files/atomic_file.h"
#include "cohort/summary/event_writer.h"
#include "tests/summary/events_of.h"
#include "tests/support/paths.h"

namespace cohort::summary {
namespace {

constexpr const char* kLogFolder = "COHORT_TEST_LOG_FOLDER";
constexpr int kFlushed = 500;

// The program that is killed: this test's own binary, started with the variable set.
TEST(KilledWriter, DISABLED_Program) {
  EventWriter writer(std::getenv(kLogFolder), {.max_queue = 1'000'000, .flush_secs = 1e9});
  for (int step = 0; step < kFlushed; ++step) writer.add_scalar("loss", step, step);
  writer.flush();
  for (int step = kFlushed; step < kFlushed + 10; ++step) writer.add_scalar("loss", step, step);
  ::kill(::getpid(), SIGKILL);
}

TEST(KilledWriter, LeavesEverythingUpToTheLastFlush) {
  const test::TemporaryFolder folder;
  const pid_t child = ::fork();
  if (child == 0) {
    ::setenv(kLogFolder, folder.path().c_str(), 1);
    ::execl("/proc/self/exe", "summary_test", "--gtest_filter=KilledWriter.DISABLED_Program",
            "--gtest_also_run_disabled_tests", "--gtest_brief=1", static_cast<char*>(nullptr));
    ::_exit(127);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) files.push_back(entry.path());
  ASSERT_EQ(files.size(), 1u);
  const std::vector<Event> events = events_of(files[0]);
  ASSERT_EQ(events.size(), 1u + kFlushed);
  for (int step = 0; step < kFlushed; ++step) EXPECT_EQ(events[static_cast<std::size_t>(step) + 1].step(), step);

  // However the last write was torn, what comes before it is read and it is not.
  const std::string bytes = read_file(files[0]);
  for (std::size_t cut = 1; cut < 60; ++cut) {
    write_file_atomically(folder.file("torn"), std::string_view(bytes).substr(0, bytes.size() - cut));
    const std::size_t whole = events_of(folder.file("torn")).size();
    EXPECT_TRUE(whole == events.size() - 1 || whole == events.size() - 2) << cut;
  }
}

}  // namespace
}  // namespace cohort::summary
