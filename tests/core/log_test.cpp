#include "cohort/core/log.h"

#include <gtest/gtest.h>

namespace cohort {
namespace {

class LogTest : public testing::Test {
 protected:
  ~LogTest() override { log::set_level(before_); }
  log::Level before_ = log::level();
};

TEST_F(LogTest, ShowsItsLevelAndAboveOnStandardError) {
  log::set_level(log::Level::Warn);
  EXPECT_EQ(log::level(), log::Level::Warn);
  EXPECT_FALSE(log::enabled(log::Level::Info));
  EXPECT_TRUE(log::enabled(log::Level::Error));
  testing::internal::CaptureStderr();
  log::info("not shown");
  log::warn("a {} stays as it is");
  log::error("and this");
  const std::string shown = testing::internal::GetCapturedStderr();
  EXPECT_EQ(shown.find("not shown"), std::string::npos);
  EXPECT_NE(shown.find("warning a {} stays as it is\n"), std::string::npos) << shown;
  EXPECT_NE(shown.find("error and this\n"), std::string::npos) << shown;
}

TEST_F(LogTest, OffShowsNothing) {
  log::set_level(log::Level::Off);
  EXPECT_EQ(log::level(), log::Level::Off);
  testing::internal::CaptureStderr();
  log::error("not shown");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace cohort
