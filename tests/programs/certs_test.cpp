#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "cohort/distribute/cluster/certificates.h"
#include "cohort/files/atomic_file.h"
#include "tests/programs/started_command.h"
#include "tests/support/paths.h"

namespace cohort {
namespace {

using test::StartedCommand;
using testing::HasSubstr;

class CertsCommand : public testing::Test {
 protected:
  // Its exit code, and what it says goes wrong.
  int make(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"certs", "make", "certs", "--cluster", "training"});
    StartedCommand command(arguments, folder_.path());
    const int code = command.wait(std::chrono::seconds(60)).value_or(-1);
    errors_ = command.errors();
    return code;
  }
  std::string content(const std::string& name) const { return read_file(folder_.file("certs/" + name)); }
  std::string identity(const std::string& task) const {
    return distribute::identity_of_certificate({content(task + ".pem"), content(task + ".key")}, content("ca.pem"),
                                               "test")
        .uri();
  }
  const test::TemporaryFolder folder_;
  std::string errors_;
};

TEST_F(CertsCommand, MakesAnAuthorityAndACertificateForEachTask) {
  ASSERT_EQ(make({"--job", "chief", "--job", "worker=2"}), 0) << errors_;
  EXPECT_EQ(identity("chief-0"), "cohort://training/chief/0");
  EXPECT_EQ(identity("worker-1"), "cohort://training/worker/1");
  for (const char* key : {"ca.key", "worker-0.key"}) {
    const auto others = std::filesystem::perms::group_all | std::filesystem::perms::others_all;
    const auto granted = std::filesystem::status(folder_.file(std::string("certs/") + key)).permissions();
    EXPECT_EQ(granted & others, std::filesystem::perms::none) << key;
  }
}

TEST_F(CertsCommand, AddsTasksToAnAuthorityThatIsThere) {
  ASSERT_EQ(make({"--job", "ps"}), 0) << errors_;
  const std::string authority = content("ca.pem");
  ASSERT_EQ(make({"--job", "worker"}), 0) << errors_;
  EXPECT_EQ(content("ca.pem"), authority);
  EXPECT_EQ(identity("ps-0"), "cohort://training/ps/0");
  EXPECT_EQ(identity("worker-0"), "cohort://training/worker/0");
}

TEST_F(CertsCommand, RefusesJobsThatAreNone) {
  for (const char* job : {"worker=0", "worker=x", "=2", "wor/ker"}) {
    EXPECT_NE(make({"--job", job}), 0) << job;
    EXPECT_THAT(errors_, HasSubstr("JOB=TASKS")) << job;
    EXPECT_FALSE(std::filesystem::exists(folder_.file("certs/ca.pem"))) << job;
  }
}

}  // namespace
}  // namespace cohort
