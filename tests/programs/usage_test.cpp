#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/programs/started_command.h"
#include "tests/support/paths.h"

namespace cohort {
namespace {

using test::StartedCommand;
using testing::HasSubstr;

struct Outcome {
  int code;
  std::string output, errors;
};

Outcome run(const std::vector<std::string>& arguments) {
  const test::TemporaryFolder folder;
  StartedCommand command(arguments, folder.path());
  const int code = command.wait().value_or(-1);
  return {code, command.output(), command.errors()};
}

TEST(CommandUsage, HelpNamesEveryCommand) {
  const Outcome help = run({"--help"});
  EXPECT_EQ(help.code, 0);
  for (const char* command : {"launch", "server", "status", "summary", "predict", "convert", "bench", "devices"}) {
    EXPECT_THAT(help.output, HasSubstr(std::string("\n  ") + command + " "));
  }
}

TEST(CommandUsage, HelpOfACommandNamesItsOptions) {
  const auto expect_named = [](const std::string& command, const std::vector<std::string>& options) {
    const Outcome help = run({command, "--help"});
    EXPECT_EQ(help.code, 0);
    EXPECT_EQ(help.errors, "");
    EXPECT_THAT(help.output, HasSubstr("Usage: cohort " + command));
    for (const std::string& option : options) EXPECT_THAT(help.output, HasSubstr(option)) << command;
  };
  expect_named("summary", {"file", "--expand-nested", "--show-trainable", "--line-length", ".weights.h5"});
  expect_named("predict", {"--model", "--inputs", "--outputs", "--batch-size", "input_0", "output_0"});
  expect_named("convert", {"from", "to", "--no-compile"});
  expect_named("launch", {"--workers", "--ps"});
  expect_named("server", {"--job", "--cluster"});
  expect_named("status", {"--cluster", "--address", "--timeout", "TF_CONFIG", "exit code"});
}

TEST(CommandUsage, WhatIsMisusedEndsWithCodeTwo) {
  const auto expect_misused = [](const std::vector<std::string>& arguments, const std::string& message) {
    const Outcome misused = run(arguments);
    EXPECT_EQ(misused.code, 2) << testing::PrintToString(arguments);
    EXPECT_EQ(misused.output, "");
    EXPECT_THAT(misused.errors, HasSubstr(message));
  };
  expect_misused({}, "A subcommand is required");
  expect_misused({"fly"}, "");
  expect_misused({"summary"}, "file is required");
  expect_misused({"summary", "a.keras", "--wide"}, "--wide");
  expect_misused({"summary", "a.keras", "--line-length", "3"}, "--line-length");
  expect_misused({"predict"}, "is required");
  expect_misused({"predict", "--model", "a", "--inputs", "b", "--outputs", "c", "--batch-size", "0"}, "--batch-size");
  expect_misused({"predict", "--model", "a", "--inputs", "b", "--outputs", "c", "--batch-size", "many"},
                 "--batch-size");
  expect_misused({"convert", "a.keras"}, "to is required");
  expect_misused({"status", "--timeout", "0"}, "--timeout");
}

TEST(CommandUsage, BenchIsTheProgramBeside) {
  const Outcome help = run({"bench", "--help"});
  EXPECT_EQ(help.code, 0) << help.errors;
  EXPECT_THAT(help.output, HasSubstr("--job"));
  EXPECT_NE(run({"bench", "--job", "nothing"}).code, 0);
}

}  // namespace
}  // namespace cohort
