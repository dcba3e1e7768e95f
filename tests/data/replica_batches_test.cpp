#include "cohort/data/replica_batches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "cohort/core/error.h"

namespace cohort {
namespace {

using testing::ElementsAre;

// What TensorFlow 2.21 gives.
TEST(ReplicaBatches, HaveTensorFlowsSizes) {
  EXPECT_THAT(replica_batch_sizes(7, 2, 2, 0), ElementsAre(2, 2, 2, 1));
  EXPECT_THAT(replica_batch_sizes(7, 2, 2, 1), ElementsAre(2, 1, 2, 2));
  EXPECT_THAT(replica_batch_sizes(2, 3, 1, 0), ElementsAre(1, 1, 0));
  EXPECT_THAT(replica_batch_sizes(2, 3, 1, 1), ElementsAre(1, 0, 1));
  EXPECT_THAT(replica_batch_sizes(2, 3, 1, 2), ElementsAre(0, 1, 1));
  EXPECT_THAT(replica_batch_sizes(8, 2, 2, 1), ElementsAre(2, 2, 2, 2));
  EXPECT_THAT(replica_batch_sizes(5, 1, 1, 0), ElementsAre(5));
}

// In every step the replicas of all workers together take one global batch, and sizes differ by at most one.
TEST(ReplicaBatches, MakeTheGlobalBatchInEveryStep) {
  for (std::int64_t global = 1; global <= 20; ++global) {
    for (std::int64_t workers = 1; workers <= 4; ++workers) {
      for (std::int64_t replicas = 1; replicas <= 3; ++replicas) {
        for (std::int64_t step = 0; step < workers; ++step) {
          std::int64_t together = 0;
          for (std::int64_t worker = 0; worker < workers; ++worker) {
            const auto sizes = replica_batch_sizes(global, workers, replicas, worker);
            const auto first = sizes.begin() + step * replicas;
            together = std::accumulate(first, first + replicas, together);
            const auto [fewest, most] = std::minmax_element(sizes.begin(), sizes.end());
            EXPECT_LE(*most - *fewest, 1);
          }
          EXPECT_EQ(together, global) << workers << " workers of " << replicas << " replicas, step " << step;
        }
      }
    }
  }
}

TEST(ReplicaBatches, RefuseWhatIsNoCluster) {
  EXPECT_THROW(replica_batch_sizes(0, 1, 1, 0), Error);
  EXPECT_THROW(replica_batch_sizes(1, 0, 1, 0), Error);
  EXPECT_THROW(replica_batch_sizes(1, 1, 0, 0), Error);
  EXPECT_THROW(replica_batch_sizes(1, 2, 1, 2), Error);
  EXPECT_THROW(replica_batch_sizes(1, 2, 1, -1), Error);
  EXPECT_THROW(replica_batch_sizes(1, INT64_MAX, INT64_MAX, 0), Error);
}

}  // namespace
}  // namespace cohort
