#include <gtest/gtest.h>

#include "cohort/core/device_group.h"
#include "tests/support/error_of.h"

namespace cohort::test {
namespace {

class Nccl : public testing::Test {
 protected:
  void SetUp() override {
    if (!device_groups("GPU")) GTEST_SKIP() << "this build is without NCCL";
  }
};

TEST_F(Nccl, MakesGroupsOfGpus) { EXPECT_STREQ(device_groups("GPU")->name(), "NCCL"); }

TEST_F(Nccl, SaysWhatIsMissing) {
  const std::string missing = device_groups("GPU")->missing();
  if (missing.empty()) GTEST_SKIP() << "the library is there";
  EXPECT_NE(missing.find("libnccl.so.2 is expected, which reductions between GPUs need"), std::string::npos) << missing;
}

TEST_F(Nccl, RefusesTheIdOfAnother) {
  EXPECT_NE(error_of([] { device_groups("GPU")->join({.id = std::vector<std::byte>(3)}); }).find("bytes=3"),
            std::string::npos);
}

}  // namespace
}  // namespace cohort::test
