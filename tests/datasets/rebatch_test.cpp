#include "cohort/datasets/transforms/rebatch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cohort/datasets/transforms/concatenate.h"
#include "cohort/datasets/transforms/unbatch.h"
#include "tests/datasets/damaged_source.h"
#include "tests/datasets/positions.h"
#include "tests/datasets/stage_checks.h"

namespace cohort::datasets::test {
namespace {

using testing::ElementsAre;
using testing::ThrowsMessage;

Dataset cut_anew(const Dataset& batches, std::int64_t size, BatchOptions options = {}) {
  return batches.apply(rebatch(size, options));
}
Dataset of_two_sizes() { return range(10).batch(3).apply(concatenate(range(10, 23).batch(5))); }

TEST(Rebatch, GivesWhatUnbatchAndBatchGive) {
  const Dataset inputs[] = {rows(23).batch(4),
                            range(23).batch(4),
                            range(23).prefetch(1).batch(4),
                            range(23).batch(4, {.drop_remainder = true}),
                            rows(23).shuffle(23, {.seed = 1, .reshuffle_each_iteration = false}).batch(4),
                            of_two_sizes(),
                            range(23).batch(100),
                            range(0).batch(2)};
  for (const Dataset& input : inputs) {
    for (const std::int64_t size : {1, 2, 3, 4, 6, 8, 9, 22, 23, 100}) {
      for (const bool drop : {false, true}) {
        EXPECT_EQ(all(cut_anew(input, size, {.drop_remainder = drop})),
                  all(input.apply(unbatch()).batch(size, {.drop_remainder = drop})))
            << size << " " << drop;
      }
    }
  }
  EXPECT_TRUE(all(cut_anew(rows(5).batch(2), std::int64_t{1} << 40, {.drop_remainder = true})).empty());
  EXPECT_EQ(all(cut_anew(rows(5).batch(2), std::int64_t{1} << 40)).size(), 1u) << "takes memory for what there is";
}

TEST(Rebatch, JoinsStrings) {
  const Dataset words = from_tensor_slices(Tensor::of_strings({"a", "b", "c", "d", "e"}, {5})).batch(2);
  auto iterator = cut_anew(words, 3).make_iterator();
  Tensors element;
  ASSERT_TRUE(iterator->next(element));
  EXPECT_THAT(element[0].to_strings(), ElementsAre("a", "b", "c"));
  ASSERT_TRUE(iterator->next(element));
  EXPECT_THAT(element[0].to_strings(), ElementsAre("d", "e"));
}

TEST(Rebatch, CopiesRowsOnlyWhereTheyLieInTwoBatches) {
  const Tensor column = Tensor::of<std::int64_t>({0, 1, 2, 3, 4, 5, 6, 7}, {8}).to_host();
  const Dataset batches = from_tensor_slices(column).batch(4);
  const auto shared = [&](std::int64_t size) {
    auto iterator = cut_anew(batches, size).make_iterator();
    std::vector<bool> shares;
    for (Tensors element; iterator->next(element);)
      shares.push_back(element[0].buffer().get() == column.buffer().get());
    return shares;
  };
  EXPECT_THAT(shared(2), ElementsAre(true, true, true, true));
  EXPECT_THAT(shared(4), ElementsAre(true, true));
  EXPECT_THAT(shared(3), ElementsAre(true, false, true));
}

TEST(Rebatch, SpecAndCardinality) {
  EXPECT_EQ(to_string(cut_anew(wide_rows(9).batch(2), 3).element_spec()), "(float32(None, 5), float32(None, 1))");
  EXPECT_EQ(to_string(cut_anew(wide_rows(9).batch(2), 3, {.drop_remainder = true}).element_spec()),
            "(float32(3, 5), float32(3, 1))");
  EXPECT_EQ(cut_anew(range(9).batch(2), 3).cardinality(), kUnknownCardinality);
  const Dataset known = range(9).batch(2, {.drop_remainder = true});
  EXPECT_EQ(cut_anew(known, 3).cardinality(), 3);
  EXPECT_EQ(cut_anew(known, 3, {.drop_remainder = true}).cardinality(), 2);
  EXPECT_EQ(cut_anew(known.repeat(), 3).cardinality(), kInfiniteCardinality);
}

TEST(Rebatch, Refuses) {
  EXPECT_THAT([] { cut_anew(range(4).batch(2), 0); }, ThrowsMessage<Error>("Dataset.rebatch: a batch of at least one "
                                                                           "row is expected. Received: batch_size=0."));
  EXPECT_THROW(cut_anew(range(4), 2), Error);
  // Rows of different shapes do not go into one batch; those behind are not lost.
  const Dataset ragged = from_tensor_slices(Tensor::full({2, 3}, 0))
                             .batch(2)
                             .apply(concatenate(from_tensor_slices(Tensor::full({4, 2}, 1)).batch(2)));
  EXPECT_THAT(numbers_or_errors(*cut_anew(ragged, 3).make_iterator()), ElementsAre(-1, 1));
}

TEST(Rebatch, BatchesBehindOneThatFailsAreWhatTheyWouldBe) {
  // The input's batches of four with 0, 11 and 22 fail, and with them all that has a row of theirs.
  const Dataset batches = damaged_indexed_source(24, 11).batch(4, {.drop_remainder = true});
  EXPECT_THAT(numbers_or_errors(*cut_anew(batches, 3).make_iterator()), ElementsAre(-1, -1, -1, -1, 12, 15, -1, -1));
  EXPECT_THAT(numbers_or_errors(*cut_anew(batches, 2).make_iterator()),
              ElementsAre(-1, -1, 4, 6, -1, -1, 12, 14, 16, 18, -1, -1));
  for (const std::int64_t size : {2, 3, 4, 7}) {
    expect_skip_equals_walking(cut_anew(batches, size));
    expect_restores_anywhere(cut_anew(batches, size));
    expect_skip_equals_walking(cut_anew(damaged_indexed_source(23, 9).batch(4), size, {.drop_remainder = true}));
  }
}

TEST(Rebatch, SkipsWhatWalkingWouldGive) {
  for (const Dataset& batches : {rows(23).batch(4), range(23).batch(4, {.drop_remainder = true}), of_two_sizes(),
                                 range(23).prefetch(1).batch(4)}) {
    for (const std::int64_t size : {1, 3, 4, 10}) {
      for (const bool drop : {false, true}) {
        expect_skip_equals_walking(cut_anew(batches, size, {.drop_remainder = drop}));
        expect_restores_anywhere(cut_anew(batches, size, {.drop_remainder = drop}));
      }
    }
  }
}

TEST(Rebatch, AsksForNoMemoryInASteadyState) {
  const Dataset shuffled = wide_rows(64).shuffle(64, {.seed = 1});
  for (const std::int64_t size : {2, 3, 8, 12, 16}) {
    expect_a_steady_state(cut_anew(wide_rows(64).batch(8), size), 2);
    expect_a_steady_state(cut_anew(shuffled.batch(8), size), 2);
    expect_a_steady_state(cut_anew(shuffled.batch(7), size), 2);
  }
}

const PositionsCase kRebatchCases[] = {
    {"smaller", [] { return cut_anew(rows(17).batch(5), 2); }},
    {"larger", [] { return cut_anew(range(17).batch(2, {.drop_remainder = true}), 5); }},
    {"streamed", [] { return cut_anew(range(17).shuffle(3, {.seed = 1}).batch(4), 3, {.drop_remainder = true}); }},
};
INSTANTIATE_TEST_SUITE_P(Rebatch, Positions, testing::ValuesIn(kRebatchCases), name_of_case);

}  // namespace
}  // namespace cohort::datasets::test
