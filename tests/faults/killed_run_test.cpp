// A training program that is killed at any moment, also while it writes: whoever starts it again ends with the very
// weights of a run that was never killed, and finds no half-written file on the way.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <random>
#include <thread>

#include "tests/faults/killed_run.h"
#include "tests/support/deadline.h"
#include "tests/support/kills_wanted.h"
#include "tests/support/paths.h"
#include "tests/support/started_program.h"

namespace cohort::test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr const char *kFolder = "COHORT_TEST_FOLDER", *kSetting = "COHORT_TEST_SETTING", *kPage = "COHORT_TEST_PAGE";

// Backups after epochs or batches, the one before kept or not.
const std::vector<KilledRunSetting>& settings() {
  static const std::vector<KilledRunSetting> all = {{.backup = {.save_freq = 2}},
                                                    {.backup = {}},
                                                    {.backup = {.save_freq = 5, .double_checkpoint = true}},
                                                    {.backup = {.double_checkpoint = true}}};
  return all;
}

// Memory that outlives the process which writes to it.
class SharedReport {
 public:
  SharedReport() : file_(::memfd_create("report", 0)) {
    if (::ftruncate(file_, sizeof(RunReport)) != 0) throw std::runtime_error("no memory to share");
    report_ = new (map(file_)) RunReport;
  }
  ~SharedReport() { ::close(file_); }
  int file() const { return file_; }
  RunReport& operator*() const { return *report_; }
  RunReport* operator->() const { return report_; }
  void reset() {
    report_->phase = RunPhase::Starting;
    report_->resumed_at = -1;
  }
  static RunReport& of(int file) { return *static_cast<RunReport*>(map(file)); }

 private:
  static void* map(int file) { return ::mmap(nullptr, sizeof(RunReport), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0); }
  int file_;
  RunReport* report_;
};

// The program that is killed: this test's own binary, started with the variables set.
TEST(KilledRun, DISABLED_Program) {
  const std::string folder = std::getenv(kFolder);
  const auto setting = static_cast<std::size_t>(std::atoi(std::getenv(kSetting)));
  const std::uint64_t end = killed_run(settings().at(setting), folder, SharedReport::of(std::atoi(std::getenv(kPage))));
  std::ofstream(folder + "/result") << end;
}

class KilledProgram {
 public:
  explicit KilledProgram(const UnbrokenRun& truth) : truth_(truth) {}

  // Starts it and kills it after that time. False when it had ended before; then it must have ended well.
  bool run(const std::string& folder, std::size_t setting, std::chrono::microseconds life) {
    report_.reset();
    const std::int64_t expected_place = check_files(folder, truth_);
    const pid_t program = start(folder, setting);
    const bool ended = !still_runs_after(program, life);
    if (!ended) ::kill(program, SIGKILL);
    int status = -1;
    if (!ended) ::waitpid(program, &status, 0);
    const std::int64_t resumed_at = report_->resumed_at;
    EXPECT_TRUE(resumed_at == -1 || resumed_at == expected_place)
        << "it went on from " << resumed_at << ", its backup is at " << expected_place;
    return !ended;
  }
  // In microseconds.
  unsigned life_unless_killed() {
    const TemporaryFolder folder;
    const auto begin = Clock::now();
    EXPECT_FALSE(run(folder.path().string(), 0, 60s));
    return static_cast<unsigned>(std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - begin).count());
  }
  RunPhase phase() const { return report_->phase; }

 private:
  pid_t start(const std::string& folder, std::size_t setting) {
    const pid_t program = ::fork();
    if (program == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      const int log = ::open((folder + "/log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
      ::dup2(log, STDOUT_FILENO);
      ::dup2(log, STDERR_FILENO);
      ::setenv(kFolder, folder.c_str(), 1);
      ::setenv(kSetting, std::to_string(setting).c_str(), 1);
      ::setenv(kPage, std::to_string(report_.file()).c_str(), 1);
      ::execl("/proc/self/exe", "faults_test", "--gtest_filter=KilledRun.DISABLED_Program",
              "--gtest_also_run_disabled_tests", "--gtest_brief=1", static_cast<char*>(nullptr));
      ::_exit(127);
    }
    return program;
  }
  static bool still_runs_after(pid_t program, std::chrono::microseconds life) {
    const auto deadline = Clock::now() + life;
    do {
      int status = -1;
      if (::waitpid(program, &status, WNOHANG) == program) {
        EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
        return false;
      }
      std::this_thread::sleep_for(100us);
    } while (Clock::now() < deadline);
    return true;
  }

  const UnbrokenRun& truth_;
  SharedReport report_;
};

TEST(KilledRun, EndsAsIfItHadNeverBeenKilled) {
  const int kills = kills_wanted(12);
  const Deadline deadline(std::chrono::seconds(60 + 4 * kills));
  const UnbrokenRun truth = unbroken_run();
  KilledProgram program(truth);
  std::mt19937 random(std::random_device{}());
  std::map<RunPhase, int> phases;
  int killed = 0, runs = 0;
  constexpr int kKillsOfARun = 4;
  const unsigned whole = program.life_unless_killed();
  while (killed < kills) {
    const TemporaryFolder folder;
    const std::string path = folder.path().string();
    const std::size_t setting = static_cast<std::size_t>(runs++) % settings().size();
    SCOPED_TRACE("setting " + std::to_string(setting));
    bool goes_on = true;
    for (int time = 0; time < kKillsOfARun && goes_on && killed < kills; ++time) {
      goes_on = program.run(path, setting, std::chrono::microseconds(random() % whole));
      if (!goes_on) break;
      ++killed;
      ++phases[program.phase()];
    }
    EXPECT_TRUE(!goes_on || !program.run(path, setting, 60s));
    std::uint64_t end = 0;
    std::ifstream(path + "/result") >> end;
    ASSERT_EQ(end, truth.end);
    check_files(path, truth);
    EXPECT_LE(unfinished_files(path), kKillsOfARun);  // each may leave one
    EXPECT_FALSE(std::filesystem::exists(path + "/backup")) << "what a finished training needs no more must be gone";
    if (testing::Test::HasFailure()) {
      std::printf("%s", content_of(path + "/log").c_str());
      break;
    }
  }
  std::printf("killed %d times in %d runs:", killed, runs);
  for (const auto& [phase, times] : phases) std::printf(" %d %s;", times, to_string(phase));
  std::printf("\n");
}

}  // namespace
}  // namespace cohort::test
