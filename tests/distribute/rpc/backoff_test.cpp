#include "cohort/distribute/rpc/backoff.h"

#include <gtest/gtest.h>

namespace cohort::distribute::rpc {
namespace {

using namespace std::chrono_literals;

constexpr Backoff::Clock::time_point kBegin{1000s};

TEST(Backoff, LetsEverybodyTryWhatWorks) {
  Backoff backoff;
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(backoff.may_try(kBegin));
  backoff.worked();
  EXPECT_TRUE(backoff.may_try(kBegin));
}

TEST(Backoff, WaitsAsLongAsAFailureIsWorth) {
  Backoff backoff;
  ASSERT_TRUE(backoff.may_try(kBegin));
  backoff.failed(kBegin, kBegin + 1s);
  EXPECT_FALSE(backoff.may_try(kBegin + 1s + 9999ms));
  EXPECT_TRUE(backoff.may_try(kBegin + 11s));
  EXPECT_FALSE(backoff.may_try(kBegin + 11s)) << "another one tries just now";
  backoff.worked();
  EXPECT_TRUE(backoff.may_try(kBegin + 11s));
}

TEST(Backoff, NeitherHurriesNorGivesUp) {
  Backoff quick, slow;
  quick.failed(kBegin, kBegin);
  EXPECT_FALSE(quick.may_try(kBegin + 49ms));
  EXPECT_TRUE(quick.may_try(kBegin + 50ms));
  slow.failed(kBegin, kBegin + 1h);
  EXPECT_FALSE(slow.may_try(kBegin + 1h + 59s));
  EXPECT_TRUE(slow.may_try(kBegin + 1h + 60s));
}

}  // namespace
}  // namespace cohort::distribute::rpc
