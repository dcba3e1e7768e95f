// Two workers on one GPU. NCCL takes them for those of two machines, where they are told to be; it would refuse them
// otherwise.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <thread>

#include "cohort/core/device_listing.h"
#include "tests/faults/processes_in_step.h"
#include "tests/support/patience.h"

namespace cohort::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class WorkersOnAGpu : public testing::Test {
 protected:
  void SetUp() override {
    if (list_physical_devices("GPU").empty()) GTEST_SKIP() << "there is no GPU";
  }
  static std::string words(const std::string& task, const std::string& implementation) {
    return "task=" + task + " device=GPU:0 implementation=" + implementation;
  }
  static std::string said(const StartedProgram& process) { return process.output() + process.errors(); }
};

constexpr ProcessesInStepOptions kApart{.apart_for_nccl = true};

TEST_F(WorkersOnAGpu, TrainByNcclAsByRing) {
  for (const InStepJob& job : in_step_jobs()) {
    SCOPED_TRACE(job.name);
    const std::string task = "train_job job=" + std::string(job.name);
    const TrainedInStep alone = train_in_step(job, "adam");
    TrainedInStep by_ring;
    {
      ProcessesInStep workers(2, words(task, "RING"), kApart);
      for (int i = 0; i < 2; ++i) EXPECT_EQ(workers.error(i), "no error") << workers.process(i).errors();
      by_ring = workers.result(0);
    }
    ProcessesInStep workers(2, words(task, "NCCL"), kApart);
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(workers.error(i), "no error") << workers.process(i).errors();
      EXPECT_THAT(said(workers.process(i)), HasSubstr("by NCCL"));
      expect_near(workers.result(i), by_ring, 2e-4);
      expect_near(workers.result(i), alone, 2e-3);
      EXPECT_EQ(workers.result(i).weights, workers.result(0).weights);
    }
  }
}

TEST_F(WorkersOnAGpu, ChooseNcclWhereTheyCan) {
  ProcessesInStep workers(2, words("train_from_any_seed", "AUTO"), kApart);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(workers.error(i), "no error") << workers.process(i).errors();
    EXPECT_THAT(said(workers.process(i)), HasSubstr("by NCCL"));
  }
}

TEST_F(WorkersOnAGpu, ShareItByRingAlone) {
  {
    ProcessesInStep workers(2, words("train_from_any_seed", "AUTO"));
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(workers.error(i), "no error") << workers.process(i).errors();
      EXPECT_THAT(said(workers.process(i)), HasSubstr("by RING (worker:0 and worker:1 have the same GPU)"));
    }
  }
  ProcessesInStep workers(2, words("train_from_any_seed", "NCCL"));
  for (int i = 0; i < 2; ++i) EXPECT_THAT(workers.error(i), HasSubstr("worker:0 and worker:1 have the same GPU"));
}

TEST_F(WorkersOnAGpu, NameTheOneThatWasKilledOrStopped) {
  for (const int number : {SIGKILL, SIGSTOP}) {
    SCOPED_TRACE(number);
    ProcessesInStep workers(2, words("train_for_ever", "NCCL"), kApart);
    ASSERT_TRUE(workers.all_have("begun")) << workers.process(0).errors();
    std::this_thread::sleep_for(500ms);
    workers.process(1).signal(number);
    const auto lost = std::chrono::steady_clock::now();
    EXPECT_THAT(workers.error(0), HasSubstr("worker:1")) << workers.process(0).errors();
    EXPECT_LT(std::chrono::steady_clock::now() - lost, patience(6s));
    workers.process(1).signal(SIGKILL);
  }
}

}  // namespace
}  // namespace cohort::test
