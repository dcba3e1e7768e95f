#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/paths.h"
#include "tests/support/started_program.h"

namespace cohort {
namespace {

using testing::HasSubstr;

struct BenchOutcome {
  int code;
  std::string output, errors;
};

BenchOutcome bench_at(const std::string& level) {
  const test::TemporaryFolder folder;
  test::StartedProgram bench(
      "cohort-bench",
      {.arguments = {"--job", "dense10"}, .environment = {{"COHORT_CPU", level}, {"COHORT_LOG_LEVEL", "debug"}}},
      folder.path());
  const int code = bench.wait(std::chrono::seconds(120)).value_or(-1);
  return {code, bench.output(), bench.errors()};
}

TEST(Bench, SaysWhichLevelOfTheCpuWasTaken) {
  const BenchOutcome bench = bench_at("baseline");
  EXPECT_EQ(bench.code, 0);
  EXPECT_THAT(bench.output, HasSubstr("\"cpu\": \"baseline\""));
  EXPECT_THAT(bench.errors, HasSubstr("kernels are those of the CPU's level baseline; this machine has baseline"));
}

TEST(Bench, RefusesALevelThatIsNotThere) {
  const BenchOutcome bench = bench_at("mmx");
  EXPECT_EQ(bench.code, 1);
  EXPECT_EQ(bench.output, "");
  EXPECT_THAT(bench.errors, HasSubstr("COHORT_CPU: must be a level that this library and this machine have: baseline"));
  EXPECT_THAT(bench.errors, HasSubstr("Received: COHORT_CPU=mmx."));
}

}  // namespace
}  // namespace cohort
