#include <gtest/gtest.h>

#include <regex>

#include "tests/support/paths.h"
#include "tests/support/started_program.h"

namespace cohort {
namespace {

using namespace std::chrono_literals;

// An example, a line it writes, and between what its number must lie.
struct Expected {
  const char* program;
  const char* pattern;
  double least, most;
};

class ModelExamples : public testing::TestWithParam<Expected> {};

TEST_P(ModelExamples, LearnOnASmallSlice) {
  const test::TemporaryFolder folder;
  const Expected& expected = GetParam();
  test::StartedProgram program(std::string("examples/") + expected.program, {.arguments = {"--smoke"}}, folder.path());
  ASSERT_EQ(program.wait(120s), 0) << program.errors();
  const std::string output = program.output();
  std::smatch found;
  ASSERT_TRUE(std::regex_search(output, found, std::regex(expected.pattern))) << output;
  EXPECT_GE(std::stod(found[1].str()), expected.least) << output;
  EXPECT_LE(std::stod(found[1].str()), expected.most) << output;
}

INSTANTIATE_TEST_SUITE_P(All, ModelExamples,
                         testing::Values(Expected{"autoencoder", "then ([0-9.e-]+)", 0.0, 0.005},
                                         Expected{"convnet", "accuracy: ([0-9.]+)", 0.9, 1.0},
                                         Expected{"gan", "Losses: ([0-9.]+)", 0.05, 3.0},
                                         Expected{"gpt", "Loss: ([0-9.]+)", 0.0, 0.5},
                                         Expected{"lstm_text", "accuracy: ([0-9.]+)", 0.85, 1.0},
                                         Expected{"resnet50", "Weights: ([0-9]+)", 25636712, 25636712},
                                         Expected{"transformer_classifier", "accuracy: ([0-9.]+)", 0.85, 1.0},
                                         Expected{"two_inputs", "Accuracy: ([0-9.]+)", 0.9, 1.0},
                                         Expected{"vae", "then ([0-9.]+)", 1.0, 250.0},
                                         Expected{"vgg", "accuracy: ([0-9.]+)", 0.9, 1.0}),
                         [](const auto& info) { return std::string(info.param.program); });

}  // namespace
}  // namespace cohort
