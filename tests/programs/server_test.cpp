#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/programs/started_command.h"
#include "tests/support/paths.h"

namespace cohort {
namespace {

using test::StartedCommand;
using testing::HasSubstr;

TEST(ServerCommand, ServesUntilASignalComes) {
  for (const int number : {SIGINT, SIGTERM}) {
    const test::TemporaryFolder folder;
    StartedCommand command({"server", "--job", "worker", "--task", "1", "--address", "127.0.0.1:0"}, folder.path());
    ASSERT_TRUE(test::becomes_true([&] {
      return command.output().find("serving at grpc://127.0.0.1:") != std::string::npos;
    })) << command.errors();
    EXPECT_THAT(command.output(), testing::Not(HasSubstr("127.0.0.1:0\n")));
    command.signal(number);
    EXPECT_EQ(command.wait(), 0);
  }
}

TEST(ServerCommand, TakesTheClusterAsText) {
  const test::TemporaryFolder folder;
  StartedCommand command(
      {"server", "--job", "ps", "--task", "0", "--cluster", R"({"ps": ["127.0.0.1:0"], "worker": ["127.0.0.1:0"]})"},
      folder.path());
  ASSERT_TRUE(test::becomes_true([&] { return command.output().find("serving at") != std::string::npos; }))
      << command.errors();
  command.signal(SIGTERM);
  EXPECT_EQ(command.wait(), 0);
}

TEST(ServerCommand, SaysWhatIsMissing) {
  const auto errors_of = [](std::vector<std::string> arguments) {
    const test::TemporaryFolder folder;
    arguments.insert(arguments.begin(), "server");
    StartedCommand command(arguments, folder.path());
    EXPECT_EQ(command.wait(), 1);
    return command.errors();
  };
  EXPECT_THAT(errors_of({}), HasSubstr("cohort server: it must be known which task"));
  EXPECT_THAT(errors_of({"--address", "127.0.0.1:0"}), HasSubstr("cohort server: it must be known which task"));
  EXPECT_THAT(errors_of({"--job", "ps", "--cluster", "{"}), HasSubstr("--cluster: must be JSON"));
  EXPECT_THAT(errors_of({"--job", "ps", "--task", "1", "--cluster", R"({"ps": ["127.0.0.1:0"]})"}),
              HasSubstr("task=ps:1"));
  EXPECT_THAT(errors_of({"--job", "ps", "--address", "nowhere"}), HasSubstr("an address must be host:port"));
}

}  // namespace
}  // namespace cohort
