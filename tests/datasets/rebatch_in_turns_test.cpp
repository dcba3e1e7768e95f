// Rebatch by a list of sizes, as replicas take them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cohort/data/replica_batches.h"
#include "cohort/datasets/transforms/rebatch.h"
#include "tests/datasets/damaged_source.h"
#include "tests/datasets/positions.h"
#include "tests/datasets/stage_checks.h"

namespace cohort::datasets::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Sizes = std::vector<std::int64_t>;

// The rule, number by number: batches of 0, 1, ... until none is left.
std::vector<std::vector<std::int64_t>> model_of_turns(std::int64_t count, const Sizes& sizes, bool drop) {
  std::vector<std::vector<std::int64_t>> batches;
  std::int64_t next = 0;
  for (std::size_t turn = 0; next < count; turn = (turn + 1) % sizes.size()) {
    std::vector<std::int64_t> batch;
    while (static_cast<std::int64_t>(batch.size()) < sizes[turn] && next < count) batch.push_back(next++);
    if (drop && static_cast<std::int64_t>(batch.size()) < sizes[turn]) break;
    batches.push_back(std::move(batch));
  }
  return batches;
}

const std::vector<Sizes>& lists_of_sizes() {
  static const std::vector<Sizes> lists{{3}, {2, 2, 2, 1}, {2, 1, 2, 2}, {1, 1, 0}, {0, 1, 1}, {0, 0, 5}, {1, 0}, {40}};
  return lists;
}

TEST(RebatchInTurns, CutsRowsIntoSizesThatTakeTurns) {
  for (const Sizes& sizes : lists_of_sizes()) {
    for (const std::int64_t count : {0, 1, 7, 14, 23}) {
      for (const bool drop : {false, true}) {
        const auto expected = model_of_turns(count, sizes, drop);
        for (const Dataset& input : {rows(count).batch(7), range(count).batch(7), range(count).batch(2)}) {
          const Dataset cut = input.apply(rebatch(sizes, {.drop_remainder = drop}));
          EXPECT_EQ(all(cut), expected) << count << " " << drop << " " << testing::PrintToString(sizes);
          if (cut.cardinality() >= 0) {
            EXPECT_EQ(cut.cardinality(), static_cast<std::int64_t>(expected.size()));
          }
        }
        const Dataset known = rows(count).batch(1, {.drop_remainder = true}).apply(rebatch(sizes, {drop}));
        EXPECT_EQ(known.cardinality(), static_cast<std::int64_t>(expected.size())) << count;
      }
    }
  }
}

TEST(RebatchInTurns, PassesByAsItWalks) {
  for (const Sizes& sizes : lists_of_sizes()) {
    const Dataset cut = rows(23).batch(7).apply(rebatch(sizes));
    const auto expected = all(cut);
    for (std::uint64_t first = 0; first <= expected.size(); ++first) {
      for (std::uint64_t count = 0; count <= expected.size() + 2; ++count) {
        const auto iterator = cut.make_iterator();
        ASSERT_EQ(rest(*iterator, 0, first).size(), first);
        const std::uint64_t there = std::min<std::uint64_t>(count, expected.size() - first);
        ASSERT_EQ(iterator->skip(count), there) << first << " " << count << " " << testing::PrintToString(sizes);
        ASSERT_EQ(rest(*iterator),
                  std::vector(expected.begin() + static_cast<std::ptrdiff_t>(first + there), expected.end()));
      }
    }
  }
}

TEST(RebatchInTurns, OfAllReplicasIsTheGlobalBatch) {
  constexpr std::int64_t kGlobal = 7, kWorkers = 2, kReplicas = 2, kSteps = 4;
  // Each worker walks data of its own, in global batches.
  std::vector<std::vector<std::vector<std::int64_t>>> batches;
  for (std::int64_t worker = 0; worker < kWorkers; ++worker) {
    batches.push_back(
        all(range(28).batch(kGlobal).apply(rebatch(replica_batch_sizes(kGlobal, kWorkers, kReplicas, worker)))));
  }
  for (std::size_t step = 0; step < kSteps; ++step) {
    std::size_t together = 0;
    for (const auto& of_worker : batches) {
      for (std::size_t replica = 0; replica < kReplicas; ++replica) {
        together += of_worker.at(step * kReplicas + replica).size();
      }
    }
    EXPECT_EQ(together, static_cast<std::size_t>(kGlobal)) << step;
  }
}

TEST(RebatchInTurns, RefusesSizesThatAreNone) {
  EXPECT_THROW(range(4).batch(2).apply(rebatch(Sizes{})), Error);
  EXPECT_THROW(range(4).batch(2).apply(rebatch(Sizes{0, 0})), Error);
  EXPECT_THROW(range(4).batch(2).apply(rebatch(Sizes{2, -1})), Error);
  EXPECT_THROW(range(4).batch(2).apply(rebatch(Sizes{INT64_MAX, INT64_MAX})), Error);
  EXPECT_THAT(all(range(0).batch(2).apply(rebatch(Sizes{0, 2}))), IsEmpty());
  EXPECT_THAT(all(range(3).batch(3).apply(rebatch(Sizes{0, 2}))),
              ElementsAre(IsEmpty(), ElementsAre(0, 1), IsEmpty(), ElementsAre(2)));
}

INSTANTIATE_TEST_SUITE_P(RebatchInTurns, Positions,
                         testing::Values(PositionsCase{"turns",
                                                       [] {
                                                         return rows(23).batch(7).apply(rebatch(Sizes{2, 2, 2, 1}));
                                                       }},
                                         PositionsCase{
                                             "turns_of_streams",
                                             [] {
                                               return range(17).prefetch(1).batch(4).apply(rebatch(Sizes{3, 1}));
                                             }}),
                         name_of_case);

}  // namespace
}  // namespace cohort::datasets::test
