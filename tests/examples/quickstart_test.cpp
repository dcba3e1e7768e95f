#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "tests/support/paths.h"
#include "tests/support/started_program.h"

namespace cohort {
namespace {

using namespace std::chrono_literals;

// The value that the last progress line gives for a name.
double last_logged(const std::string& output, const std::string& name) {
  const std::regex pattern("[ ]" + name + ": ([0-9.]+)");
  double value = -1.0;
  for (std::sregex_iterator found(output.begin(), output.end(), pattern), end; found != end; ++found) {
    value = std::stod((*found)[1].str());
  }
  return value;
}

TEST(Quickstart, LearnsFashionMnistOnAClusterAndLeavesItsResults) {
  const test::TemporaryFolder folder;
  test::StartedProgram program("examples/quickstart", {.arguments = {"--epochs", "8"}}, folder.path());
  const std::optional<int> exit_code = program.wait(300s);
  if (program.errors().find("Install the package dataset-fashion-mnist") != std::string::npos) {
    GTEST_SKIP() << "this machine has no Fashion-MNIST";
  }
  ASSERT_EQ(exit_code, 0) << program.errors();
  EXPECT_GE(last_logged(program.output(), "val_accuracy"), 0.85) << program.output();
  for (const char* file : {"model.keras", "ckpt/08.keras", "logs/train", "logs/validation"}) {
    EXPECT_TRUE(std::filesystem::exists(folder.path() / file)) << file;
  }
}

}  // namespace
}  // namespace cohort
