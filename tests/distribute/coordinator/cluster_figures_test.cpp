#include "cohort/distribute/coordinator/cluster_figures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "cohort/distribute/local_cluster.h"
#include "tests/support/free_ports.h"

namespace cohort::distribute::test {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::Pair;

std::vector<rpc::Peer> peers_of(const ClusterSpec& spec) {
  return {{"worker:0", spec.task_address("worker", 0)},
          {"ps:0", spec.task_address("ps", 0)},
          {"worker:1", cohort::test::free_addresses(1).front()}};
}

TEST(ClusterFigures, AreThoseOfTheTasksThatAnswerAndTheChiefsOwn) {
  const LocalCluster cluster({{"worker", 1}, {"ps", 1}});
  ClusterFigures figures(peers_of(cluster.resolver().cluster_spec()), {}, [] {
    return ClusterFigures::Figures{{"own", 2.0}};
  });
  const ClusterFigures::Figures now = figures.now();
  EXPECT_THAT(now, Contains(Pair("bytes_sent/worker_0", 0.0)));
  EXPECT_THAT(now, Contains(Pair("queue_depth/ps_0", 0.0)));
  EXPECT_THAT(now, Contains(Pair("own", 2.0)));
  EXPECT_THAT(now, testing::Not(Contains(Pair("bytes_sent/worker_1", testing::_))));
}

TEST(ClusterFigures, NewOnesComeNowAndThenAndNobodyWaitsForThem) {
  const LocalCluster cluster({{"worker", 1}, {"ps", 1}});
  ClusterFigures figures(peers_of(cluster.resolver().cluster_spec()), {}, [] {
    return ClusterFigures::Figures{{"own", 2.0}};
  });
  EXPECT_TRUE(figures.news().empty());
  int times = 0, asked = 0;
  const auto until = std::chrono::steady_clock::now() + 2500ms;
  for (; std::chrono::steady_clock::now() < until; ++asked) {
    const ClusterFigures::Figures news = figures.news();
    if (!news.empty()) {
      ++times;
      EXPECT_THAT(news, Contains(Pair("queue_depth/ps_0", 0.0)));
      EXPECT_THAT(news, Contains(Pair("own", 2.0)));
    }
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_GE(times, 1);
  EXPECT_LE(times, 3);
  EXPECT_GT(asked, 50 * times);
}

}  // namespace
}  // namespace cohort::distribute::test
