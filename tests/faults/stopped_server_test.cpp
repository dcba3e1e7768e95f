// A program of one's own that serves: SIGINT and SIGTERM end it in good order.
#include <gtest/gtest.h>

#include "cohort/distribute/coordinator/cluster_runtime.h"
#include "tests/faults/own_tasks.h"
#include "tests/support/deadline.h"

namespace cohort::test {
namespace {

using namespace std::chrono_literals;

TEST(ServerOfAProgram, EndsInGoodOrderOnASignal) {
  const Deadline deadline(60s);
  for (const int number : {SIGINT, SIGTERM}) {
    OwnTasks tasks(1, 1);
    // They serve once a chief has been there.
    const distribute::ClusterRuntime runtime(tasks.spec());
    for (StartedProgram* task : {&tasks.worker(0), &tasks.server(0)}) {
      task->signal(number);
      EXPECT_EQ(task->wait(), 0) << task->errors();
    }
  }
}

}  // namespace
}  // namespace cohort::test
