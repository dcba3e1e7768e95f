#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/support/paths.h"
#include "tests/support/started_program.h"

namespace cohort {
namespace {

using testing::AllOf;
using testing::Gt;
using testing::HasSubstr;
using testing::SizeIs;

struct BenchOutcome {
  int code;
  std::string output, errors;

  std::vector<nlohmann::json> lines() const {
    std::vector<nlohmann::json> parsed;
    std::istringstream stream(output);
    for (std::string line; std::getline(stream, line);) parsed.push_back(nlohmann::json::parse(line));
    return parsed;
  }
};

BenchOutcome bench(std::vector<std::string> arguments,
                   std::vector<std::pair<std::string, std::string>> environment = {}) {
  const test::TemporaryFolder folder;
  test::StartedProgram program(
      "cohort-bench", {.arguments = std::move(arguments), .environment = std::move(environment)}, folder.path());
  const int code = program.wait(std::chrono::seconds(120)).value_or(-1);
  return {code, program.output(), program.errors()};
}

BenchOutcome bench_at(const std::string& level) {
  return bench({"--job", "dense10", "--threads", "3"}, {{"COHORT_CPU", level}, {"COHORT_LOG_LEVEL", "debug"}});
}

TEST(Bench, SaysWhichLevelOfTheCpuWasTakenAndHowManyThreadsCompute) {
  const BenchOutcome outcome = bench_at("baseline");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("\"cpu\": \"baseline\""), HasSubstr("\"threads\": 3")));
  EXPECT_THAT(outcome.errors,
              AllOf(HasSubstr("kernels are those of the CPU's level baseline; this machine has baseline"),
                    HasSubstr("; threads: 3")));
}

TEST(Bench, RefusesALevelThatIsNotThere) {
  const BenchOutcome outcome = bench_at("mmx");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.output, "");
  EXPECT_THAT(outcome.errors,
              HasSubstr("COHORT_CPU: must be a level that this library and this machine have: baseline"));
  EXPECT_THAT(outcome.errors, HasSubstr("Received: COHORT_CPU=mmx."));
}

TEST(Bench, TrainsInEitherPrecision) {
  double losses[2];
  for (const int i : {0, 1}) {
    const std::string precision = i == 0 ? "float32" : "bf16";
    const BenchOutcome outcome = bench({"--job", "thin", "--layers", "7", "--precision", precision});
    ASSERT_EQ(outcome.code, 0) << outcome.errors;
    EXPECT_EQ(outcome.lines().at(0).at("precision"), precision);
    losses[i] = outcome.lines().at(0).at("loss");
  }
  EXPECT_NE(losses[0], losses[1]);
  EXPECT_NEAR(losses[0], losses[1], 0.05 * losses[0]);
}

TEST(Bench, TrainsANetOfAsManyThinLayersAsAsked) {
  const BenchOutcome outcome = bench({"--job", "thin", "--layers", "7"});
  ASSERT_EQ(outcome.code, 0) << outcome.errors;
  EXPECT_EQ(outcome.lines().at(0).at("layers"), 7);
  EXPECT_THAT(outcome.lines().at(0).at("ms_per_step").get<double>(), Gt(0.0));
}

TEST(Bench, MeasuresWhatTheMachineCanDoOnOneThreadAndOnAll) {
  const BenchOutcome outcome = bench({"--roofline", "--threads", "2"}, {{"COHORT_CPU", "baseline"}});
  ASSERT_EQ(outcome.code, 0) << outcome.errors;
  const std::vector<nlohmann::json> lines = outcome.lines();
  ASSERT_THAT(lines, SizeIs(2));  // the baseline has no matrix instructions
  for (const int i : {0, 1}) {
    const nlohmann::json& line = lines[static_cast<std::size_t>(i)];
    EXPECT_EQ(line.at("roofline"), "multiply_adds");
    EXPECT_EQ(line.at("threads"), i + 1);
    EXPECT_THAT(line.at("gflops").get<double>(), Gt(0.0));
  }
  EXPECT_TRUE(lines[1].contains("gain"));
}

TEST(Bench, MeasuresAProductAndItsShareOfTheLoopsRate) {
  for (const std::string precision : {"float32", "bf16"}) {
    for (const bool packed : {false, true}) {
      std::vector<std::string> arguments = {"--product", "67,300,131", "--precision", precision};
      if (packed) arguments.push_back("--packed");  // which also compares bits with the product that packs
      const BenchOutcome outcome = bench(arguments);
      ASSERT_EQ(outcome.code, 0) << outcome.errors;
      const nlohmann::json line = outcome.lines().at(0);
      EXPECT_EQ(line.at("product"), "67x300x131");
      EXPECT_EQ(line.at("precision"), precision);
      EXPECT_EQ(line.at("packed"), packed);
      EXPECT_NEAR(line.at("of_loop").get<double>(),
                  line.at("gflops").get<double>() / line.at("loop_gflops").get<double>(), 0.05);
    }
  }
}

TEST(Bench, RefusesWhatIsNoProductAndToDoNothing) {
  for (const std::string text : {"1024", "4,0,4", "4,4,4,4", "4,-1,4", "4,4,x", "4 4 4"}) {
    const BenchOutcome outcome = bench({"--product", text});
    EXPECT_EQ(outcome.code, 1) << text;
    EXPECT_THAT(outcome.errors, HasSubstr("--product: must be three sizes"));
  }
  EXPECT_EQ(bench({}).code, 2);
}

}  // namespace
}  // namespace cohort
