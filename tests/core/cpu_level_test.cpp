#include "cohort/core/cpu_level.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cohort/core/dispatch.h"
#include "cohort/core/kernel.h"
#include "tests/core/cpu_level_kernels.h"
#include "tests/support/error_of.h"
#include "tests/support/vector.h"

// Null in a build without levels.
extern "C" __attribute__((weak)) const cohort::StaticInitializer __start_cohort_cpu_level_twin[];
extern "C" __attribute__((weak)) const cohort::StaticInitializer __stop_cohort_cpu_level_twin[];

namespace cohort::test {

int baseline_starts = 0, twin_starts = 0;

namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

COHORT_OP("CpuLevelTest").inputs(1).infer([](const OpCall& call) { return Specs{{DType::Float32, call.shape(0)}}; });

std::vector<float> levels_of(const Tensor& x) { return run_op("CpuLevelTest", {x}).to_vector<float>(); }

TEST(CpuLevel, TheBaselineIsAlwaysThere) {
  EXPECT_EQ(available_cpu_levels().front(), "baseline");
  EXPECT_THAT(available_cpu_levels(), Contains(cpu_level()));
  const CpuLevelScope scope("baseline");
  EXPECT_EQ(cpu_level(), "baseline");
  EXPECT_EQ(taken_cpu_level(), 0);
}

TEST(CpuLevel, AScopeEndsWithTheLevelBefore) {
  const std::string_view before = cpu_level();
  { const CpuLevelScope scope("baseline"); }
  EXPECT_EQ(cpu_level(), before);
}

TEST(CpuLevel, OneThatIsNotThereIsRefusedWithAListOfThoseThatAre) {
  const std::string error = error_of([] { CpuLevelScope("mmx"); });
  EXPECT_THAT(error, StartsWith("InvalidArgument COHORT_CPU: must be a level that this library and this machine have: "
                                "baseline"));
  EXPECT_THAT(error, HasSubstr("Received: COHORT_CPU=mmx. "));
}

KernelFn make_top(const KernelSpec& spec) {
  if (spec.input_size(0) != 1) return {};
  return [](const KernelIO& io) { *io.out<float>(0) = 2; };
}
void start_top(int, char**, char**) { register_kernel("CpuLevelTest", kCPU, make_top); }
int absent_starts = 0;
void start_absent(int, char**, char**) { ++absent_starts; }
constexpr StaticInitializer kStartTop[] = {start_top}, kStartAbsent[] = {start_absent};

// Levels above those of the library: `twin`, which the build makes of a source; `absent`, which this machine cannot
// run; and `top`.
class TestedCpuLevels : public testing::Test {
 protected:
  void SetUp() override {
    const std::span twin(&__start_cohort_cpu_level_twin[0], &__stop_cohort_cpu_level_twin[0]);
    if (twin.empty()) GTEST_SKIP() << "this build has no levels";
    [[maybe_unused]] static const bool added = [&] {
      add_cpu_level({"twin", [] { return true; }, twin});
      add_cpu_level({"absent", [] { return false; }, kStartAbsent});
      add_cpu_level({"top", [] { return true; }, kStartTop});
      return true;
    }();
  }
};

TEST_F(TestedCpuLevels, NothingOfALevelRunsBeforeItIsTaken) {
  EXPECT_EQ(baseline_starts, 1);
  EXPECT_EQ(twin_starts, 0);
  EXPECT_THAT(levels_of(vector({0, 0, 0, 0})), ElementsAre(0, 0, 0, 0));
  for (int i = 0; i < 2; ++i) {
    const CpuLevelScope scope("twin");
    EXPECT_EQ(cpu_level(), "twin");
    EXPECT_EQ(twin_starts, 1);
  }
  EXPECT_EQ(baseline_starts, 1);
}

TEST_F(TestedCpuLevels, ObjectsFunctionsAndTemplatesOfALevelAreItsOwn) {
  {
    const CpuLevelScope scope("twin");
    EXPECT_THAT(levels_of(vector({0, 0, 0, 0})), ElementsAre(1, 1, 1, 1));
  }
  const CpuLevelScope scope("baseline");
  EXPECT_THAT(levels_of(vector({0, 0, 0, 0})), ElementsAre(0, 0, 0, 0));
  EXPECT_EQ(level_of_this_function(), 0);
  EXPECT_EQ(level_of_inline_function<float>(), 0);
}

TEST_F(TestedCpuLevels, AKernelThatALevelDoesNotHaveIsMadeByTheNextLower) {
  const CpuLevelScope scope("top");
  EXPECT_THAT(levels_of(vector({0})), ElementsAre(2));
  EXPECT_THAT(levels_of(vector({0, 0})), ElementsAre(1, 1));
  EXPECT_THAT(levels_of(Tensor::of<std::int32_t>({0, 0}, {2})), ElementsAre(0, 0));
}

TEST_F(TestedCpuLevels, WhatTheMachineCannotRunIsNeitherOfferedNorRun) {
  const CpuLevelScope scope("top");
  EXPECT_EQ(absent_starts, 0);
  EXPECT_THAT(available_cpu_levels(), AllOf(Not(Contains("absent")), Contains("twin"), Contains("top")));
  EXPECT_THAT(error_of([] { CpuLevelScope("absent"); }), HasSubstr("COHORT_CPU=absent"));
}

}  // namespace
}  // namespace cohort::test
