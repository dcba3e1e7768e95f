#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/datasets/positions.h"

namespace cohort::datasets::test {
namespace {

using testing::ElementsAre;
using testing::ThrowsMessage;

TEST(Shard, GivesEveryNthElement) {
  for (const Dataset& ten : rows_and_range(10)) {
    EXPECT_THAT(numbers(ten.shard(4, 0)), ElementsAre(0, 4, 8));
    EXPECT_THAT(numbers(ten.shard(4, 3)), ElementsAre(3, 7));
    EXPECT_THAT(numbers(ten.shard(1, 0)), numbers(ten));
    EXPECT_THAT(numbers(ten.shard(20, 15)), ElementsAre());
    EXPECT_EQ(ten.shard(4, 1).cardinality(), 3);
    EXPECT_EQ(ten.shard(4, 2).cardinality(), 2);
  }
}

TEST(Shard, OfRowsInMemorySendsItsPartOnly) {
  const Dataset data = from_tensor_slices(Tensor::full({1000, 25}, 1.0), Tensor::full({1000}, 2.0, DType::Int64));
  for (std::int64_t index = 0; index < 4; ++index) {
    ConstantTable constants;
    const std::string chain = serialize(data.shard(4, index).shuffle(10).batch(5), constants);
    std::size_t bytes = chain.size();
    for (const auto& [hash, tensor] : constants.tensors) bytes += tensor.bytes();
    EXPECT_GE(bytes, 250u * 108);
    EXPECT_LE(bytes, 250u * 108 + 2000);
  }
}

TEST(Shard, OfRowsInMemoryKeepsStructureAndStrings) {
  const Dataset data =
      from_tensor_slices(Element::dict({{"name", Element(Tensor::of_strings({"a", "b", "c", "d", "e"}, {5}))},
                                        {"pair", Element(Tensor::of<float>({0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, {5, 2}))}}));
  const Dataset part = parse_dataset(serialize(data.shard(2, 1)));
  EXPECT_EQ(to_string(part.element_spec()), to_string(data.element_spec()));
  EXPECT_EQ(part.cardinality(), 2);
  const auto iterator = part.make_iterator();
  Tensors element;
  ASSERT_TRUE(iterator->next(element));
  EXPECT_THAT(element.at(0).to_strings(), ElementsAre("b"));
  EXPECT_THAT(element.at(1).to_vector<float>(), ElementsAre(2, 3));
  ASSERT_TRUE(iterator->next(element));
  EXPECT_THAT(element.at(0).to_strings(), ElementsAre("d"));
  EXPECT_THAT(element.at(1).to_vector<float>(), ElementsAre(6, 7));
  EXPECT_FALSE(iterator->next(element));
}

TEST(Shard, RefusesAnIndexOutsideItsShards) {
  EXPECT_THAT([] { range(3).shard(2, 2); },
              ThrowsMessage<Error>("Dataset.shard: at least one shard and an index in [0, num_shards) are expected. "
                                   "Received: num_shards=2, index=2."));
  EXPECT_THROW(range(3).shard(0, 0), Error);
  EXPECT_THROW(range(3).shard(2, -1), Error);
}

const PositionsCase kShardCases[] = {
    {"rows", [] { return rows(11).shard(3, 1); }},
    {"elements", [] { return range(11).shard(3, 2); }},
};
INSTANTIATE_TEST_SUITE_P(Shard, Positions, testing::ValuesIn(kShardCases), name_of_case);

}  // namespace
}  // namespace cohort::datasets::test
