// A training program that is killed at any moment, also while it writes: whoever starts it again ends with the very
// weights of a run that was never killed, and finds no half-written file on the way.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>

#include "tests/faults/killed_run.h"
#include "tests/faults/random_kills.h"
#include "tests/faults/shared_report.h"
#include "tests/support/deadline.h"
#include "tests/support/kills_wanted.h"
#include "tests/support/paths.h"

namespace cohort::test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr const char* kRunSetting = "COHORT_TEST_SETTING";

// Backups after epochs or batches, the one before kept or not.
const std::vector<KilledRunSetting>& run_settings() {
  static const std::vector<KilledRunSetting> all = {{.backup = {.save_freq = 2}},
                                                    {.backup = {}},
                                                    {.backup = {.save_freq = 5, .double_checkpoint = true}},
                                                    {.backup = {.double_checkpoint = true}}};
  return all;
}

// The program that is killed: this test's own binary, started in its folder.
TEST(KilledRun, DISABLED_Program) {
  const SharedReport<RunReport> report("report");
  const auto setting = static_cast<std::size_t>(std::atoi(std::getenv(kRunSetting)));
  std::ofstream("result") << killed_run(run_settings().at(setting), ".", *report);
}

// One run, in a folder of its own, that is killed and started again.
class BrokenRun {
 public:
  BrokenRun(std::size_t setting, const UnbrokenRun& truth)
      : setting_(setting), truth_(truth), report_(folder_.file("report")) {}

  // Starts the program and kills it after that time; false when it has ended before.
  bool killed_after(std::chrono::microseconds life) {
    report_.reset();
    const std::int64_t expected_place = check_files(folder_.path().string(), truth_);
    StartedProgram program("tests/faults_test",
                           {.arguments = {"--gtest_filter=KilledRun.DISABLED_Program",
                                          "--gtest_also_run_disabled_tests", "--gtest_brief=1"},
                            .environment = {{kRunSetting, std::to_string(setting_)}}},
                           folder_.path());
    const bool killed = outlives(program, life);
    if (killed) {
      program.signal(SIGKILL);
      program.wait();
    }
    const std::int64_t resumed_at = report_->resumed_at;
    EXPECT_TRUE(resumed_at == -1 || resumed_at == expected_place)
        << "it went on from " << resumed_at << ", its backup is at " << expected_place << "\n"
        << program.errors();
    return killed;
  }
  RunPhase phase() const { return report_->phase; }

  void check_end() {
    std::uint64_t end = 0;
    std::ifstream(folder_.file("result")) >> end;
    EXPECT_EQ(end, truth_.end);
    check_files(folder_.path().string(), truth_);
    EXPECT_EQ(unfinished_files(folder_.path().string()), 0);
    for (int epoch = 1; epoch <= kRunEpochs; ++epoch) {
      EXPECT_TRUE(std::filesystem::exists(folder_.file("files/0" + std::to_string(epoch) + ".keras"))) << epoch;
    }
    EXPECT_FALSE(std::filesystem::exists(folder_.file("backup")))
        << "what a finished training needs no more must be gone";
  }
  static constexpr int kMostKills = 4;

 private:
  const std::size_t setting_;
  const UnbrokenRun& truth_;
  const TemporaryFolder folder_;
  SharedReport<RunReport> report_;
};

TEST(KilledRun, EndsAsIfItHadNeverBeenKilled) {
  const int kills = kills_wanted(12);
  const Deadline deadline(std::chrono::seconds(60 + 4 * kills));
  const UnbrokenRun truth = unbroken_run();
  const auto begin = Clock::now();
  ASSERT_FALSE(BrokenRun(0, truth).killed_after(60s));
  const std::chrono::duration<double, std::micro> whole = Clock::now() - begin;
  std::mt19937 random(std::random_device{}());
  KillCount<RunPhase> killed;
  for (std::size_t runs = 0; killed.total() < kills && !testing::Test::HasFailure(); ++runs) {
    const std::size_t setting = runs % run_settings().size();
    SCOPED_TRACE("setting " + std::to_string(setting));
    BrokenRun run(setting, truth);
    bool goes_on = true;
    for (int time = 0; goes_on && time < BrokenRun::kMostKills && killed.total() < kills; ++time) {
      goes_on = run.killed_after(std::chrono::microseconds(random() % static_cast<unsigned>(whole.count())));
      if (goes_on) killed.add(run.phase());
    }
    EXPECT_TRUE(!goes_on || !run.killed_after(60s));
    run.check_end();
  }
  killed.print();
}

}  // namespace
}  // namespace cohort::test
