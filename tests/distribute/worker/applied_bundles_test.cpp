#include "cohort/distribute/worker/applied_bundles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <string>

#include "tests/support/error_of.h"

namespace cohort::distribute {
namespace {

using cohort::test::error_of;
using testing::HasSubstr;

TEST(AppliedBundles, ABundleIsNewOnce) {
  AppliedBundles applied;
  EXPECT_TRUE(applied.insert(1, 0, 0));
  EXPECT_FALSE(applied.insert(1, 0, 0));
  EXPECT_TRUE(applied.insert(1, 0, 1));
  EXPECT_TRUE(applied.insert(1, 1, 0));
  EXPECT_TRUE(applied.insert(2, 0, 0));
  EXPECT_FALSE(applied.insert(1, 1, 0));
  EXPECT_FALSE(applied.insert(2, 0, 0));
}

TEST(AppliedBundles, StepsMayComeInAnyOrder) {
  AppliedBundles applied;
  EXPECT_TRUE(applied.insert(7, 9, 0));
  EXPECT_TRUE(applied.insert(7, 3, 0));
  EXPECT_FALSE(applied.insert(7, 9, 0));
  EXPECT_TRUE(applied.insert(7, 8, 63));
  EXPECT_FALSE(applied.insert(7, 8, 63));
}

TEST(AppliedBundles, WhatFailedMayComeAgain) {
  AppliedBundles applied;
  EXPECT_TRUE(applied.insert(1, 5, 2));
  applied.erase(1, 5, 2);
  EXPECT_TRUE(applied.insert(1, 5, 2));
  applied.forget_below(9);
  applied.erase(1, 5, 2);  // long forgotten
  EXPECT_FALSE(applied.insert(1, 5, 2));
}

TEST(AppliedBundles, OfFinishedClosuresEverythingIsARepeat) {
  AppliedBundles applied;
  for (std::uint64_t closure = 1; closure <= 10; ++closure) EXPECT_TRUE(applied.insert(closure, 0, 0));
  applied.forget_below(8);
  applied.forget_below(3);  // an older word arrives late
  for (std::uint64_t closure = 1; closure < 8; ++closure) {
    EXPECT_FALSE(applied.insert(closure, 0, 0)) << closure;
    EXPECT_FALSE(applied.insert(closure, 99, 0)) << closure;
  }
  for (std::uint64_t closure = 8; closure <= 10; ++closure) {
    EXPECT_FALSE(applied.insert(closure, 0, 0)) << closure;
    EXPECT_TRUE(applied.insert(closure, 1, 0)) << closure;
  }
}

// Memory is used again, what was in it is not.
TEST(AppliedBundles, ANewClosureKnowsNothingOfOlderOnes) {
  AppliedBundles applied;
  for (std::uint64_t closure = 1; closure < 200; ++closure) {
    for (std::uint64_t step = 0; step < 5; ++step) EXPECT_TRUE(applied.insert(closure, step, 0)) << closure;
    for (std::uint64_t step = 0; step < 5; ++step) EXPECT_FALSE(applied.insert(closure, step, 0)) << closure;
    applied.forget_below(closure > 3 ? closure - 3 : 0);
  }
}

TEST(AppliedBundles, DoesNotBelieveHugeNumbers) {
  AppliedBundles applied;
  EXPECT_THAT(error_of([&] { applied.insert(1, std::numeric_limits<std::uint64_t>::max(), 0); }),
              HasSubstr("InvalidArgument"));
  EXPECT_THAT(error_of([&] { applied.insert(1, 0, 64); }), HasSubstr("round=64"));
}

// A closure's number comes from outside: one far ahead of all others costs no memory.
TEST(AppliedBundles, DoesNotBelieveNumbersFarAhead) {
  AppliedBundles applied;
  applied.forget_below(1000);
  EXPECT_THAT(error_of([&] { applied.insert(std::numeric_limits<std::uint64_t>::max(), 0, 0); }),
              HasSubstr("ResourceExhausted"));
  EXPECT_THAT(error_of([&] { applied.insert(1000 + AppliedBundles::kMostClosures, 0, 0); }),
              HasSubstr("finished below=1000"));
  EXPECT_TRUE(applied.insert(999 + AppliedBundles::kMostClosures, 0, 0));
  EXPECT_FALSE(applied.insert(999 + AppliedBundles::kMostClosures, 0, 0));
  EXPECT_TRUE(applied.insert(1000, 0, 0));
  EXPECT_EQ(applied.steps_kept(), 2u);
  // Nor do many closures that claim many steps.
  std::string error;
  for (std::uint64_t closure = 2000; closure < 3000 && error.empty(); ++closure) {
    error = error_of([&] { applied.insert(closure, AppliedBundles::kMostSteps - 1, 0); });
  }
  EXPECT_THAT(error, HasSubstr("ResourceExhausted"));
  EXPECT_LE(applied.steps_kept(), AppliedBundles::kMostStepsKept);
  applied.forget_below(999 + 2 * AppliedBundles::kMostClosures);
  EXPECT_EQ(applied.steps_kept(), 0u);
}

// One closure takes a minute while others come and go: whoever asks does not walk past all of them.
TEST(AppliedBundles, AnOldClosureDoesNotSlowTheOthersDown) {
  AppliedBundles applied;
  constexpr std::uint64_t kClosures = 300'000;
  EXPECT_TRUE(applied.insert(1, 0, 0));
  const auto start = std::chrono::steady_clock::now();
  for (std::uint64_t closure = 2; closure < kClosures; ++closure) ASSERT_TRUE(applied.insert(closure, 0, 0));
  for (std::uint64_t closure = 2; closure < kClosures; ++closure) ASSERT_FALSE(applied.insert(closure, 0, 0));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
  EXPECT_EQ(applied.steps_kept(), kClosures - 1);
  applied.forget_below(kClosures);
  EXPECT_LT(applied.steps_kept(), 64u);
}

}  // namespace
}  // namespace cohort::distribute
