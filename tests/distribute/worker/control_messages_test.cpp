// Control messages with any numbers in their fields; tests/fuzz looks further.
#include "tests/support/control_messages.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/support/kills_wanted.h"

namespace cohort::distribute::test {
namespace {

TEST(ControlMessages, AreAnsweredOrRefusedWhateverIsInThem) {
  cohort::test::ControlMessages messages;
  std::mt19937 random(6);
  for (int i = 0; i < cohort::test::kills_wanted(1000); ++i) {
    std::vector<std::uint8_t> bytes(20 + random() % 200);
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
    messages.send({bytes.data(), bytes.size()});
  }
  EXPECT_GT(messages.answered(), 2000);
  EXPECT_GT(messages.refused(), 2000);
  for (int method = static_cast<int>(Method::Hello); method <= static_cast<int>(Method::ReleaseParts); ++method) {
    EXPECT_GT(messages.answered(static_cast<Method>(method)), 0) << to_string(static_cast<Method>(method));
  }
}

}  // namespace
}  // namespace cohort::distribute::test
