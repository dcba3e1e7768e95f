#include "cohort/datasets/transforms/padded_batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/datasets/positions.h"
#include "tests/datasets/ragged_source.h"
#include "tests/datasets/skipping.h"
#include "tests/support/allocations.h"

namespace cohort::datasets::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

using PaddedBatches = std::vector<std::vector<std::int64_t>>;

// Element n is n times n, as in tf.data's own examples.
std::vector<Dataset> growing(std::int64_t count) {
  std::vector<std::int64_t> lengths;
  for (std::int64_t i = 0; i < count; ++i) lengths.push_back(i);
  return {ragged_source(lengths), ragged_indexed_source(lengths)};
}

Dataset padded(const Dataset& data, std::int64_t size, PaddedBatchOptions options = {}) {
  return data.apply(padded_batch(size, std::move(options)));
}

TEST(PaddedBatch, PadsToTheLongestOfEachBatch) {
  for (const Dataset& data : growing(5)) {
    const Dataset batches = padded(data, 2);
    EXPECT_EQ(all(batches), (PaddedBatches{{0, 1}, {2, 2, 0, 3, 3, 3}, {4, 4, 4, 4}}));
    EXPECT_EQ(batches.iterator().next().leaf().shape(), Shape({2, 1}));
    EXPECT_EQ(to_string(batches.element_spec()), "int64(None, None)");
    EXPECT_EQ(batches.cardinality(), 3);
    const Dataset whole = padded(data, 2, {.drop_remainder = true});
    EXPECT_EQ(all(whole).size(), 2u);
    EXPECT_EQ(whole.cardinality(), 2);
    EXPECT_EQ(to_string(whole.element_spec()), "int64(2, None)");
    EXPECT_EQ(all(padded(data, std::int64_t{1} << 60)).size(), 1u);
  }
}

TEST(PaddedBatch, PadsToTheShapeAndWithTheValueGiven) {
  for (const Dataset& data : growing(4)) {
    const Dataset batches = padded(data, 2, {.padded_shapes = {{4}}, .padding_values = {Tensor::scalar(-1, int64)}});
    EXPECT_EQ(all(batches), (PaddedBatches{{-1, -1, -1, -1, 1, -1, -1, -1}, {2, 2, -1, -1, 3, 3, 3, -1}}));
    EXPECT_EQ(to_string(batches.element_spec()), "int64(None, 4)");
    const Dataset travelled = parse_dataset(serialize(batches));
    EXPECT_EQ(all(travelled), all(batches));
  }
}

TEST(PaddedBatch, PadsEveryAxisAndEveryLeaf) {
  // 2 x 3 and 1 x 3 from batches of rows; the number beside them has no axis to pad.
  const Tensor x = Tensor::of<std::int64_t>({1, 2, 3, 4, 5, 6, 7, 8, 9}, {3, 3}, cpu());
  const Dataset pairs = from_tensor_slices(x).batch(2).enumerate();
  const Dataset batches =
      padded(pairs, 2, {.padded_shapes = {{}, {3, 4}}, .padding_values = {Tensor(), Tensor::scalar(9, int64)}});
  auto iterator = batches.make_iterator();
  Tensors batch;
  ASSERT_TRUE(iterator->next(batch));
  EXPECT_THAT(batch[0].to_vector<std::int64_t>(), ElementsAre(0, 1));
  EXPECT_EQ(batch[1].shape(), Shape({2, 3, 4}));
  EXPECT_THAT(batch[1].to_vector<std::int64_t>(),
              ElementsAre(1, 2, 3, 9, 4, 5, 6, 9, 9, 9, 9, 9, 7, 8, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9));
  EXPECT_EQ(to_string(batches.element_spec()), "(int64(None,), int64(None, 3, 4))");
}

TEST(PaddedBatch, PadsStringsAndBooleansWithNothing) {
  const Dataset words =
      from_tensor_slices(Tensor::of_strings({"a", "b", "c"}, {3}), Tensor::of<bool>({true, true, true}, {3}, cpu()))
          .batch(2);
  Tensors batch;
  padded(words, 2).make_iterator()->next(batch);
  EXPECT_THAT(batch[0].to_strings(), ElementsAre("a", "b", "c", ""));
  EXPECT_THAT(batch[1].to_vector<double>(), ElementsAre(1, 1, 1, 0));
  const Dataset marked = padded(words, 2, {.padding_values = {Tensor::of_strings({"-"}, {}), Tensor()}});
  parse_dataset(serialize(marked)).make_iterator()->next(batch);
  EXPECT_THAT(batch[0].to_strings(), ElementsAre("a", "b", "c", "-"));
}

TEST(PaddedBatch, RefusesElementsLongerThanTheShape) {
  for (const Dataset& data : growing(6)) {
    const Dataset batches = padded(data, 2, {.padded_shapes = {{3}}});
    auto iterator = batches.make_iterator();
    EXPECT_EQ(rest_with_errors(*iterator), (PaddedBatches{{0, 0, 0, 1, 0, 0}, {2, 2, 0, 3, 3, 3}, {INT64_MIN}}));
    EXPECT_THAT([&] { padded(data, 6, {.padded_shapes = {{3}}}).iterator().next(); },
                ThrowsMessage<Error>(HasSubstr("padded_shape=(3,), element=int64(4,), row=4")));
  }
}

TEST(PaddedBatch, RefusesWrongArguments) {
  const Dataset data = growing(3)[0];
  EXPECT_THAT([&] { padded(data, 0); },
              ThrowsMessage<Error>(
                  "Dataset.padded_batch: a batch of at least one element is expected. Received: batch_size=0."));
  EXPECT_THROW(padded(data, 2, {.padded_shapes = {{3}, {3}}}), Error);
  EXPECT_THROW(padded(data, 2, {.padded_shapes = {{3, 3}}}), Error);
  EXPECT_THROW(padded(data, 2, {.padded_shapes = {{-2}}}), Error);
  EXPECT_THROW(padded(data, 2, {.padding_values = {Tensor::scalar(1, float32)}}), Error);
  EXPECT_THROW(padded(data, 2, {.padding_values = {Tensor::full({1}, 1, int64)}}), Error);
  const Dataset known = from_tensor_slices(Tensor::full({4, 5}, 1));
  EXPECT_THROW(padded(known, 2, {.padded_shapes = {{4}}}), Error);
}

TEST(PaddedBatch, IsABatchWhereNothingIsToPad) {
  const Tensor x = Tensor::of<float>({0, 1, 2, 3, 4, 5, 6, 7}, {4, 2}, cpu());
  Tensors batch;
  auto iterator = padded(from_tensor_slices(x), 2).make_iterator();
  iterator->next(batch);
  iterator->next(batch);
  EXPECT_EQ(batch[0].raw(), x.rows(2, 2).raw()) << "rows in order are a view";
  Tensors wider;
  padded(from_tensor_slices(x), 2, {.padded_shapes = {{3}}}).make_iterator()->next(wider);
  EXPECT_EQ(wider[0].shape(), Shape({2, 3}));
  for (const Dataset& numbers : rows_and_range(11)) {
    EXPECT_EQ(all(padded(numbers.skip(1), 3)), all(numbers.skip(1).batch(3)));
  }
}

TEST(PaddedBatch, StaysAlignedPastElementsThatFail) {
  const std::vector<std::int64_t> lengths{1, -1, 2, 1, 1, 3, -1, 1};
  for (const Dataset& data : {ragged_source(lengths), ragged_indexed_source(lengths)}) {
    EXPECT_EQ(rest_with_errors(*padded(data, 2).make_iterator()),
              (PaddedBatches{{INT64_MIN}, {2, 2, 3, 0}, {4, 0, 0, 5, 5, 5}, {INT64_MIN}}));
  }
}

TEST(PaddedBatch, PassesByWithoutReading) {
  const std::vector<std::int64_t> lengths(100, 3);
  for (const Dataset& data : {ragged_source(lengths), ragged_indexed_source(lengths)}) {
    auto iterator = padded(data, 10).make_iterator();
    const std::int64_t before = ragged_elements_read();
    EXPECT_EQ(iterator->skip(9), 9u);
    EXPECT_EQ(ragged_elements_read(), before);
    EXPECT_EQ(rest(*iterator).size(), 1u);
  }
}

TEST(PaddedBatch, SkipsAsItWalks) {
  const std::vector<std::int64_t> lengths{1, 0, 2, 1, -1, 3, 2, 1, 1, 2, 5};
  for (const Dataset& data : {ragged_source(lengths), ragged_indexed_source(lengths)}) {
    for (const bool drop : {false, true}) {
      expect_passing_by_equals_walking(padded(data, 3, {.drop_remainder = drop}));
      expect_passing_by_equals_walking(padded(data.shuffle(4, {.seed = 3}), 3, {.drop_remainder = drop}));
    }
  }
}

TEST(PaddedBatch, AllocatesNothingInASteadyState) {
  if (!cohort::test::allocations_are_counted()) GTEST_SKIP() << "a sanitizer owns the heap";
  const std::vector<std::int64_t> lengths{4, 1, 3, 2, 4, 1, 3, 2};
  for (const Dataset& data : {ragged_source(lengths), ragged_indexed_source(lengths),
                              ragged_indexed_source(lengths).shuffle(4, {.seed = 1})}) {
    auto iterator = padded(data, 4, {.padded_shapes = {{4}}}).make_iterator();
    Tensors batch;
    for (int epoch = 0; epoch < 3; ++epoch) {
      while (iterator->next(batch)) {
      }
      iterator->rewind();
    }
    const std::uint64_t before = cohort::test::allocations();
    for (int epoch = 0; epoch < 5; ++epoch) {
      while (iterator->next(batch)) {
      }
      iterator->rewind();
    }
    EXPECT_EQ(cohort::test::allocations() - before, 0u);
  }
}

const PositionsCase kPaddedBatchCases[] = {
    {"stream",
     [] {
       return padded(ragged_source({3, 1, 2, 0, 4, 1, 1}), 3);
     }},
    {"by_number",
     [] {
       return padded(ragged_indexed_source({3, 1, 2, 0, 4, 1, 1}), 3);
     }},
    {"whole_only",
     [] {
       return padded(ragged_source({3, 1, 2, 0, 4, 1, 1}), 3, {.drop_remainder = true});
     }},
    {"shuffled",
     [] {
       return padded(ragged_indexed_source({3, 1, 2, 2, 4, 1, 1}).shuffle(3, {.seed = 2}), 2).repeat(2);
     }},
    {"value", [] { return padded(range(9).batch(2), 2, {.padding_values = {Tensor::scalar(7, int64)}}); }},
};
INSTANTIATE_TEST_SUITE_P(PaddedBatch, Positions, testing::ValuesIn(kPaddedBatchCases), name_of_case);

}  // namespace
}  // namespace cohort::datasets::test
