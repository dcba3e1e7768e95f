#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/paths.h"
#include "tests/support/started_program.h"

namespace cohort {
namespace {

using testing::HasSubstr;

TEST(ClusterBench, TrainsConvolutionsOnWorkersThatHaveTheirShareOfTheThreads) {
  const test::TemporaryFolder folder;
  test::StartedProgram program("cohort-cluster-bench",
                               {.arguments = {"--in-process", "--workers", "2", "--ps", "1", "--threads", "1", "--job",
                                              "small_cnn", "--epochs", "1", "--steps", "4", "--spe", "2"}},
                               folder.path());
  EXPECT_EQ(program.wait(std::chrono::seconds(120)), 0) << program.errors();
  EXPECT_THAT(program.output(), HasSubstr("\"job\": \"small_cnn\", \"in_process\": true"));
  EXPECT_THAT(program.output(), HasSubstr("\"threads\": 1, \"spe\": 2, \"epoch\": 0"));
}

TEST(ClusterBench, TrainsWorkersInStepOverEachTransport) {
  for (const char* transport : {"shm", "tcp", "grpc"}) {
    const test::TemporaryFolder folder;
    test::StartedProgram program("cohort-cluster-bench",
                                 {.arguments = {"--strategy", "mwms", "--workers", "2", "--job", "mlp", "--transport",
                                                transport, "--epochs", "1", "--steps", "4", "--spe", "2"}},
                                 folder.path());
    EXPECT_EQ(program.wait(std::chrono::seconds(120)), 0) << program.errors();
    EXPECT_THAT(program.output(), HasSubstr("{\"strategy\": \"mwms\", \"job\": \"mlp\", \"in_process\": false"));
    EXPECT_THAT(program.output(), HasSubstr(std::string("\"transport\": \"") + transport + "\", \"workers\": 2"));
    EXPECT_THAT(program.output(), HasSubstr("\"epoch\": 0, \"ms_per_step\": "));
  }
}

TEST(ClusterBench, GivesThreadsToTasksThatAreProcesses) {
  const test::TemporaryFolder folder;
  test::StartedProgram program("cohort-cluster-bench",
                               {.arguments = {"--workers", "2", "--ps", "1", "--threads", "1", "--job", "dense10",
                                              "--epochs", "1", "--steps", "4"}},
                               folder.path());
  EXPECT_EQ(program.wait(std::chrono::seconds(120)), 0) << program.errors();
  EXPECT_THAT(program.output(), HasSubstr("\"in_process\": false"));
  EXPECT_THAT(program.output(), HasSubstr("\"threads\": 1"));
}

}  // namespace
}  // namespace cohort
