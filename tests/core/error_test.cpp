#include "cohort/core/error.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "cohort/core/shape.h"

namespace cohort {
namespace {

TEST(Error, SaysWhoExpectedWhatReceivedWhatAndHowToFixIt) {
  const Error error =
      invalid_argument("Conv2D 'conv2d_1'", "input must have 4 axes (batch, height, width, channels)",
                       {{"input.shape", Shape{32, 784}}, {"training", true}}, "Add a Reshape layer before it.");
  EXPECT_STREQ(error.what(),
               "Conv2D 'conv2d_1': input must have 4 axes (batch, height, width, channels). Received: "
               "input.shape=(32, 784), training=true. Add a Reshape layer before it.");
  EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
}

TEST(Error, PartsMayBeLeftOut) {
  EXPECT_STREQ(not_found("file", "it must exist").what(), "file: it must exist.");
  EXPECT_STREQ(not_found("file", "it must exist.", {}, "Write it.").what(), "file: it must exist. Write it.");
  EXPECT_STREQ(Error(ErrorCode::Internal, "as it is").what(), "as it is");
}

TEST(Error, ShortFormsCarryTheirCode) {
  EXPECT_EQ(not_found("a", "b").code(), ErrorCode::NotFound);
  EXPECT_EQ(failed_precondition("a", "b").code(), ErrorCode::FailedPrecondition);
  EXPECT_EQ(unimplemented("a", "b").code(), ErrorCode::Unimplemented);
  EXPECT_EQ(internal_error("a", "b").code(), ErrorCode::Internal);
}

TEST(Error, OnlyAnUnavailablePeerMayBeAskedAgain) {
  std::set<std::string> names;
  for (int i = 0; i <= static_cast<int>(ErrorCode::Internal); ++i) {
    const auto code = static_cast<ErrorCode>(i);
    EXPECT_EQ(Error(code, "x").retryable(), code == ErrorCode::Unavailable);
    names.insert(to_string(code));
  }
  EXPECT_EQ(names.size(), static_cast<std::size_t>(ErrorCode::Internal) + 1) << "two codes share a name";
  EXPECT_FALSE(names.contains("Unknown"));
}

TEST(Error, IsAStandardException) { EXPECT_THROW(throw not_found("a", "b"), std::runtime_error); }

}  // namespace
}  // namespace cohort
