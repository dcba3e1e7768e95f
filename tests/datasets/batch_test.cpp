#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/datasets/damaged_source.h"
#include "tests/datasets/positions.h"

namespace cohort::datasets::test {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

using Batches = std::vector<std::vector<std::int64_t>>;

// An element that fails costs its batch; those behind it have the elements that they would have had.
TEST(Batch, StaysAlignedBehindAnError) {
  const auto iterator = damaged_source(12, 5).batch(4).make_iterator();  // 0, 5 and 10 fail
  Tensors element;
  EXPECT_THROW(iterator->next(element), Error);
  EXPECT_THROW(iterator->next(element), Error);
  EXPECT_THROW(iterator->next(element), Error);
  EXPECT_FALSE(iterator->next(element));
  const auto good = damaged_source(12, 7).batch(3).make_iterator();  // 0 and 7 fail
  EXPECT_THROW(good->next(element), Error);
  ASSERT_TRUE(good->next(element));
  EXPECT_THAT(element[0].to_vector<std::int64_t>(), testing::ElementsAre(3, 4, 5));
  EXPECT_THROW(good->next(element), Error);
  ASSERT_TRUE(good->next(element));
  EXPECT_THAT(element[0].to_vector<std::int64_t>(), testing::ElementsAre(9, 10, 11));
}

TEST(Batch, KeepsOrDropsTheRemainder) {
  for (const Dataset& seven : rows_and_range(7)) {
    EXPECT_EQ(all(seven.batch(3)), (Batches{{0, 1, 2}, {3, 4, 5}, {6}}));
    EXPECT_EQ(all(seven.batch(3, {.drop_remainder = true})), (Batches{{0, 1, 2}, {3, 4, 5}}));
    EXPECT_EQ(all(seven.batch(10)), (Batches{{0, 1, 2, 3, 4, 5, 6}}));
    EXPECT_EQ(all(seven.batch(std::int64_t{1} << 60)).size(), 1u);
    EXPECT_TRUE(all(seven.batch(8, {.drop_remainder = true})).empty());
    EXPECT_EQ(to_string(seven.batch(3).element_spec()), "int64(None,)");
    EXPECT_EQ(to_string(seven.batch(3, {.drop_remainder = true}).element_spec()), "int64(3,)");
    EXPECT_EQ(seven.batch(3).cardinality(), 3);
    EXPECT_EQ(seven.batch(3, {.drop_remainder = true}).cardinality(), 2);
    EXPECT_EQ(seven.batch(2).batch(2).iterator().next().leaf().shape(), Shape({2, 2}));
  }
  EXPECT_THAT(
      [] { range(3).batch(0); },
      ThrowsMessage<Error>("Dataset.batch: a batch of at least one element is expected. Received: batch_size=0."));
}

TEST(Batch, OfRowsInOrderIsAViewAndOtherwiseACopy) {
  const Tensor x = Tensor::of<float>({0, 1, 2, 3, 4, 5, 6, 7}, {4, 2}, cpu());
  auto iterator = from_tensor_slices(x).batch(2).make_iterator();
  Tensors element;
  iterator->next(element);
  iterator->next(element);
  EXPECT_EQ(element[0].raw(), x.rows(2, 2).raw());
  const Tensor mixed = from_tensor_slices(x).shuffle(4, {.seed = 2}).batch(4).iterator().next().leaf();
  EXPECT_NE(mixed.raw(), x.raw());
  const std::vector<float> values = mixed.to_vector<float>();
  for (std::size_t row = 0; row < 4; ++row) EXPECT_EQ(values[2 * row] + 1, values[2 * row + 1]) << "rows stay whole";
}

TEST(Batch, RefusesElementsOfDifferentShapes) {
  EXPECT_THAT([] { all(range(5).batch(2).batch(3)); },
              ThrowsMessage<Error>(HasSubstr("Received: first=int64(2,), other=int64(1,)")));
}

const PositionsCase kBatchCases[] = {
    {"rows", [] { return rows(7).batch(3); }},
    {"elements", [] { return range(7).batch(3); }},
    {"whole_only", [] { return range(7).batch(3, {.drop_remainder = true}); }},
    {"shuffled", [] { return rows(11).shuffle(6, {.seed = 5}).batch(4); }},
};
INSTANTIATE_TEST_SUITE_P(Batch, Positions, testing::ValuesIn(kBatchCases), name_of_case);

}  // namespace
}  // namespace cohort::datasets::test
