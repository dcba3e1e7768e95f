#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
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

TEST(Bench, TrainsTheJobsOfAGpuToTheSameLossOnAnyDevice) {
  for (const std::string precision : {"float32", "bf16"}) {
    std::vector<nlohmann::json> lines;
    for (const std::string device : {"CPU:0", "TEST:0"}) {
      const BenchOutcome outcome = bench({"--gpu-jobs", "--job", "small_cnn", "--batch", "2", "--steps", "23",
                                          "--precision", precision, "--device", device});
      ASSERT_EQ(outcome.code, 0) << outcome.errors;
      lines.push_back(outcome.lines().at(0));
      EXPECT_EQ(lines.back().at("device"), device);
      EXPECT_EQ(lines.back().at("precision"), precision);
      EXPECT_NEAR(lines.back().at("samples_per_s").get<double>(), 2e3 / lines.back().at("ms_per_step").get<double>(),
                  0.01 * lines.back().at("samples_per_s").get<double>() + 1.0);
    }
    EXPECT_EQ(lines[0].at("loss"), lines[1].at("loss"));
  }
}

TEST(Bench, TheJobsOfAGpuHaveTheWeightsOfThePeers) {
  struct Expected {
    std::string job;
    std::int64_t weights;
    double flops;  // of a sample
  };
  for (const Expected& expected : {Expected{"dense10", 110, 0.0}, Expected{"mlp", 71'222'248, 6.0 * 71'204'864},
                                   Expected{"resnet50", 25'557'032, 6.0 * 4.09e9}}) {
    const BenchOutcome outcome = bench({"--gpu-jobs", "--job", expected.job, "--batch", "1", "--steps", "1"});
    ASSERT_EQ(outcome.code, 0) << outcome.errors;
    const nlohmann::json line = outcome.lines().at(0);
    EXPECT_EQ(line.at("weights"), expected.weights) << expected.job;
    EXPECT_EQ(line.contains("tflops"), expected.flops > 0.0) << expected.job;
    const double flops = line.value("tflops", 0.0) * 1e9 * line.at("ms_per_step").get<double>();
    EXPECT_NEAR(flops, expected.flops, 0.01 * expected.flops) << expected.job;
  }
}

TEST(Bench, MeasuresProductsAndAttentionAsADeviceDoesThem) {
  const BenchOutcome outcome = bench({"--gpu-jobs", "--product", "640,320,160", "--attention", "--batch", "1",
                                      "--precision", "bf16", "--device", "TEST:0"});
  ASSERT_EQ(outcome.code, 0) << outcome.errors;
  const std::vector<nlohmann::json> lines = outcome.lines();
  ASSERT_THAT(lines, SizeIs(2));
  EXPECT_EQ(lines[0].at("product"), "640x320x160");
  EXPECT_EQ(lines[1].at("attention"), "1x1024x12x64");
  const double operations[] = {2.0 * 640 * 320 * 160, 3.5 * 0.5 * 4 * 12 * 1024.0 * 1024 * 64};
  for (const std::size_t i : {0, 1}) {
    EXPECT_EQ(lines[i].at("device"), "TEST:0");
    EXPECT_EQ(lines[i].at("precision"), "bf16");
    EXPECT_NEAR(lines[i].at("tflops").get<double>() * 1e9 * lines[i].at("ms").get<double>(), operations[i],
                0.05 * operations[i]);
  }
  EXPECT_THAT(lines[1].at("ms").get<double>(), Gt(lines[1].at("forward_ms").get<double>()));
}

TEST(Bench, RefusesAJobOfAGpuOnTheCpuAndItsOptionsForOtherJobs) {
  const BenchOutcome job = bench({"--job", "resnet50", "--device", "cpu:0"});
  EXPECT_EQ(job.code, 1);
  EXPECT_THAT(job.errors, HasSubstr("--job: is one of a GPU's. Received: job=resnet50."));
  for (const std::string option : {"--batch", "--steps"}) {
    const BenchOutcome outcome = bench({"--job", "dense10", option, "4", "--device", "cpu:0"});
    EXPECT_EQ(outcome.code, 1);
    EXPECT_THAT(outcome.errors, HasSubstr("--batch and --steps are for the jobs of a GPU"));
  }
}

TEST(Bench, TellsWhereTheTimeOfAJobGoes) {
  for (const std::string device : {"cpu:0", "test:0"}) {
    const BenchOutcome outcome = bench({"--job", "mlp", "--profile", "3", "--profile-rows", "100", "--device", device});
    ASSERT_EQ(outcome.code, 0) << outcome.errors;
    EXPECT_THAT(outcome.output,
                AllOf(HasSubstr("FLOP/s           FusedMatMul  float32(128, 784), float32(784, 512), float32(512,)"),
                      HasSubstr("GB/s           AdamUpdate"), HasSubstr("\n 100.0 % ")));
  }
  const BenchOutcome short_one = bench({"--job", "mlp", "--profile", "3", "--profile-rows", "2", "--device", "cpu:0"});
  // The job's line, a head, two kernels, the others, the sum.
  EXPECT_EQ(std::count(short_one.output.begin(), short_one.output.end(), '\n'), 6) << short_one.output;
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
