#include "cohort/distribute/coordinator/pending_releases.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace cohort::distribute {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(PendingReleases, EveryTaskHearsOnceOfWhatConcernsIt) {
  PendingReleases pending(2, 2);
  EXPECT_TRUE(pending.take_for_worker(0).empty());
  pending.dataset(4);
  pending.function(7);
  const Releases first = pending.take_for_worker(0);
  EXPECT_THAT(first.datasets, ElementsAre(4));
  EXPECT_THAT(first.functions, ElementsAre(7));
  EXPECT_TRUE(pending.take_for_worker(0).empty());
  pending.dataset(5);
  EXPECT_THAT(pending.take_for_worker(1).datasets, ElementsAre(4, 5));
  const Releases ps = pending.take_for_ps(1);
  EXPECT_THAT(ps.datasets, IsEmpty());
  EXPECT_THAT(ps.functions, ElementsAre(7));
}

TEST(PendingReleases, AVariableGoesWithTheLastWhoNamesIt) {
  PendingReleases pending(1, 2);
  pending.variable_named("w");
  pending.variable_named("w");
  pending.variable_named("count");
  pending.variable_unnamed("w", 1);
  EXPECT_TRUE(pending.take_for_ps(1).empty());
  pending.variable_unnamed("w", 1);
  pending.variable_unnamed("count", -1);
  EXPECT_THAT(pending.take_for_ps(0).variables, ElementsAre("count"));
  EXPECT_THAT(pending.take_for_ps(1).variables, ElementsAre("w", "count"));
  EXPECT_TRUE(pending.take_for_worker(0).empty());
}

TEST(PendingReleases, WhatCouldNotBeToldIsToldLater) {
  PendingReleases pending(1, 1);
  pending.function(1);
  Releases taken = pending.take_for_ps(0);
  pending.function(2);
  pending.put_back_for_ps(0, std::move(taken));
  EXPECT_THAT(pending.take_for_ps(0).functions, ElementsAre(2, 1));
}

TEST(PendingReleases, NoneIsLostBetweenThreads) {
  PendingReleases pending(1, 1);
  constexpr int kEach = 20'000;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 2; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < kEach; ++i) pending.dataset(2 * i + thread);
    });
  }
  std::vector<int> heard;
  while (heard.size() < 2 * kEach) {
    const Releases taken = pending.take_for_worker(0);
    heard.insert(heard.end(), taken.datasets.begin(), taken.datasets.end());
  }
  for (std::thread& thread : threads) thread.join();
  std::sort(heard.begin(), heard.end());
  for (int i = 0; i < 2 * kEach; ++i) ASSERT_EQ(heard[static_cast<std::size_t>(i)], i);
  EXPECT_TRUE(pending.take_for_worker(0).empty());
}

}  // namespace
}  // namespace cohort::distribute
