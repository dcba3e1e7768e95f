#include "cohort/datasets/transforms/bucket_by_sequence_length.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cohort/ops/ops.h"
#include "tests/datasets/positions.h"
#include "tests/datasets/ragged_source.h"
#include "tests/datasets/skipping.h"

namespace cohort::datasets::test {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

using BucketBatches = std::vector<std::vector<std::int64_t>>;

// The number of a ragged element's values, computed from them.
Tensor length_of(const Tensor& x) { return ops::sum(ops::cast(ops::ones_like(x), int64)); }

Dataset bucketed(const Dataset& data, BucketOptions options = {}) {
  return data.apply(
      bucket_by_sequence_length([](Tensor x) { return length_of(x); }, {3, 5}, {2, 2, 2}, std::move(options)));
}

// tf.data's own example: lengths 1 2 3 4 5 6 with boundaries 3 and 5, batches of 2.
TEST(BucketBySequenceLength, BatchesSequencesOfSimilarLength) {
  for (const Dataset& data : {ragged_source({1, 5, 2, 3, 6, 4}), ragged_indexed_source({1, 5, 2, 3, 6, 4})}) {
    const Dataset batches = bucketed(data);
    EXPECT_EQ(all(batches),
              (BucketBatches{{0, 0, 2, 2}, {1, 1, 1, 1, 1, 0, 4, 4, 4, 4, 4, 4}, {3, 3, 3, 0, 5, 5, 5, 5}}));
    EXPECT_EQ(batches.cardinality(), kUnknownCardinality);
    EXPECT_EQ(bucketed(data.repeat()).cardinality(), kInfiniteCardinality);
    EXPECT_EQ(to_string(batches.element_spec()), "int64(None, None)");
    EXPECT_EQ(to_string(bucketed(data, {.drop_remainder = true}).element_spec()), "int64(2, None)");
  }
}

TEST(BucketBySequenceLength, ABoundaryBelongsToTheLongerBucket) {
  EXPECT_EQ(all(bucketed(ragged_source({2, 3, 3, 2}))), (BucketBatches{{1, 1, 1, 2, 2, 2}, {0, 0, 3, 3}}));
}

TEST(BucketBySequenceLength, WhatIsLeftComesLastTheShortestFirst) {
  const Dataset data = ragged_source({6, 4, 1, 2, 2});
  EXPECT_EQ(all(bucketed(data)), (BucketBatches{{2, 0, 3, 3}, {4, 4}, {1, 1, 1, 1}, {0, 0, 0, 0, 0, 0}}));
  EXPECT_EQ(all(bucketed(data, {.drop_remainder = true})), (BucketBatches{{2, 0, 3, 3}}));
}

TEST(BucketBySequenceLength, PadsToTheBoundaryLessOne) {
  const BucketOptions to_boundary{.padding_values = {Tensor::scalar(-1, int64)}, .pad_to_bucket_boundary = true};
  EXPECT_EQ(all(bucketed(ragged_source({1, 1, 3}), to_boundary)), (BucketBatches{{0, -1, 1, -1}, {2, 2, 2, -1}}));
  auto iterator = bucketed(ragged_source({1, 7, 1}), to_boundary).make_iterator();
  EXPECT_EQ(rest_with_errors(*iterator), (BucketBatches{{INT64_MIN}, {0, -1, 2, -1}}));
  EXPECT_THAT([&] { all(bucketed(ragged_source({5}), to_boundary)); },
              ThrowsMessage<Error>(HasSubstr("Received: length=5, last boundary=5")));
}

TEST(BucketBySequenceLength, PadsToTheShapesGivenOrNotAtAll) {
  EXPECT_EQ(all(bucketed(ragged_source({1, 2}), {.padded_shapes = {{3}}})), (BucketBatches{{0, 0, 0, 1, 1, 0}}));
  EXPECT_EQ(all(bucketed(ragged_source({2, 2}), {.no_padding = true})), (BucketBatches{{0, 0, 1, 1}}));
  EXPECT_THAT(
      [] {
        all(bucketed(ragged_source({1, 2}), {.no_padding = true}));
      },
      ThrowsMessage<Error>(HasSubstr("must have the same shape")));
}

TEST(BucketBySequenceLength, RefusesWrongArguments) {
  const auto with = [](std::vector<std::int64_t> boundaries, std::vector<std::int64_t> sizes) {
    return ragged_source({1}).apply(
        bucket_by_sequence_length([](Tensor x) { return length_of(x); }, boundaries, sizes));
  };
  EXPECT_THAT([&] { with({3}, {2}); }, ThrowsMessage<Error>(HasSubstr("Received: boundaries=1, batch_sizes=1")));
  EXPECT_THROW(with({3, 3}, {1, 1, 1}), Error);
  EXPECT_THROW(with({3}, {1, 0}), Error);
  EXPECT_NO_THROW(with({}, {2}));
  EXPECT_THAT(
      [] {
        ragged_source({1}).apply(bucket_by_sequence_length([](Tensor x) { return x; }, {3}, {1, 1}));
      },
      ThrowsMessage<Error>(HasSubstr("a function that gives one integer is expected")));
}

TEST(BucketBySequenceLength, ElementsThatFailAreLostAlone) {
  const std::vector<std::int64_t> lengths{1, -1, 2, 3, -1, 3, 6, -1, 1};
  for (const Dataset& data : {ragged_source(lengths), ragged_indexed_source(lengths)}) {
    EXPECT_EQ(rest_with_errors(*bucketed(data).make_iterator()),
              (BucketBatches{
                  {INT64_MIN}, {0, 0, 2, 2}, {INT64_MIN}, {3, 3, 3, 5, 5, 5}, {INT64_MIN}, {8}, {6, 6, 6, 6, 6, 6}}));
    expect_passing_by_equals_walking(bucketed(data));
  }
}

TEST(BucketBySequenceLength, SkipsAsItWalks) {
  const std::vector<std::int64_t> lengths{1, 6, 2, 3, 2, 4, 4, 1, 1, 9, 2, 3, 7};
  for (const bool drop : {false, true}) {
    expect_passing_by_equals_walking(bucketed(ragged_source(lengths), {.drop_remainder = drop}));
    expect_passing_by_equals_walking(
        bucketed(ragged_indexed_source(lengths).shuffle(4, {.seed = 1}), {.drop_remainder = drop}));
  }
}

// A sequence that waits for long costs neither a long state nor the reading of all that came since.
TEST(BucketBySequenceLength, RestoresWithoutReadingWhatWasGivenOut) {
  std::vector<std::int64_t> lengths(1000, 2);
  lengths[3] = 9;
  const Dataset data = bucketed(ragged_source(lengths));
  auto iterator = data.make_iterator();
  EXPECT_EQ(iterator->skip(450), 450u);
  const std::string state = iterator->save();
  EXPECT_LT(state.size(), 100u);
  const auto expected = rest(*iterator);
  auto other = data.make_iterator();
  const std::int64_t before = ragged_elements_read();
  other->restore(state);
  EXPECT_LE(ragged_elements_read() - before, 2);
  EXPECT_EQ(rest(*other), expected);
}

const PositionsCase kBucketCases[] = {
    {"stream",
     [] {
       return bucketed(ragged_source({1, 6, 2, 3, 2, 4, 4, 1, 1, 9, 2}));
     }},
    {"whole_only",
     [] {
       return bucketed(ragged_source({1, 6, 2, 3, 2, 4, 4, 1}), {.drop_remainder = true});
     }},
    {"shuffled",
     [] {
       return bucketed(ragged_indexed_source({1, 6, 2, 3, 2, 4, 4, 1, 1, 9, 2}).shuffle(4, {.seed = 2}));
     }},
    {"prefetched",
     [] {
       return bucketed(ragged_source({1, 6, 2, 3, 2, 4, 4}).prefetch(2)).prefetch(2);
     }},
    {"long",
     [] {
       std::vector<std::int64_t> lengths;
       for (std::int64_t i = 0; i < 150; ++i) lengths.push_back(i % 50 == 7 ? 8 : i % 4);
       return bucketed(ragged_source(lengths)).skip(60);
     }},
};
INSTANTIATE_TEST_SUITE_P(BucketBySequenceLength, Positions, testing::ValuesIn(kBucketCases), name_of_case);

}  // namespace
}  // namespace cohort::datasets::test
