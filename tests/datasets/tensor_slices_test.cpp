#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/datasets/positions.h"

namespace cohort::datasets::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(FromTensorSlices, GivesRowsThatShareTheTensorsMemory) {
  const Tensor x = Tensor::of<float>({1, 2, 3, 4, 5, 6}, {3, 2}, cpu());
  const Dataset dataset = from_tensor_slices(x);
  EXPECT_EQ(dataset.cardinality(), 3);
  EXPECT_EQ(to_string(dataset.element_spec()), "float32(2,)");
  auto iterator = dataset.make_iterator();
  Tensors element;
  ASSERT_TRUE(iterator->next(element));
  ASSERT_TRUE(iterator->next(element));
  EXPECT_EQ(element[0].data<float>().data(), x.data<float>().data() + 2);
  EXPECT_THAT(element[0].to_vector<float>(), ElementsAre(3, 4));
}

TEST(FromTensorSlices, KeepsStructureAndNames) {
  const Tensor x = Tensor::full({4, 2}, 1), y = Tensor::full({4}, 2, DType::Int32), w = Tensor::full({4}, 3);
  EXPECT_EQ(to_string(from_tensor_slices(x, y).element_spec()), "(float32(2,), int32())");
  EXPECT_EQ(to_string(from_tensor_slices(x, y, w).element_spec()), "(float32(2,), int32(), float32())");
  const Dataset named = from_tensor_slices(Element::dict({{"image", x}, {"parts", Element::tuple({y, w})}}));
  EXPECT_EQ(to_string(named.element_spec()), "{image: float32(2,), parts: (int32(), float32())}");
  const Element element = named.batch(2).iterator().next();
  EXPECT_EQ(element.find("image")->leaf().shape(), Shape({2, 2}));
  EXPECT_EQ((*element.find("parts"))[1].leaf().shape(), Shape({2}));
}

TEST(FromTensorSlices, RefusesLengthsThatDiffer) {
  EXPECT_THAT(
      [] {
        from_tensor_slices(Tensor::full({4, 2}, 1), Tensor::full({3}, 1));
      },
      ThrowsMessage<Error>("datasets.from_tensor_slices: all tensors must have the same size along axis 0. "
                           "Received: first.shape=(4, 2), other.shape=(3,). Give as many targets as inputs."));
}

TEST(FromTensorSlices, RefusesWhatHasNoRows) {
  EXPECT_THAT([] { from_tensor_slices(Tensor::scalar(1)); }, ThrowsMessage<Error>(HasSubstr("at least one axis")));
  EXPECT_THAT([] { from_tensor_slices(Tensor()); }, ThrowsMessage<Error>(HasSubstr("with values")));
  EXPECT_THAT([] { from_tensor_slices(Element()); }, ThrowsMessage<Error>(HasSubstr("at least one tensor")));
}

TEST(FromTensorSlices, TakesNoRowsAndStrings) {
  EXPECT_TRUE(all(from_tensor_slices(Tensor::full({0, 3}, 1)).batch(2)).empty());
  const Dataset words = from_tensor_slices(Tensor::of_strings({"a", "b", "c"}, {3}));
  auto iterator = words.make_iterator();
  Tensors element;
  ASSERT_TRUE(iterator->next(element));
  ASSERT_TRUE(iterator->next(element));
  EXPECT_THAT(element[0].to_strings(), ElementsAre("b"));
  for (const Dataset& batches :
       {words.batch(2), words.shuffle(1).cache().prefetch(1).batch(2), words.repeat().batch(7)}) {
    EXPECT_THAT(batches.iterator().next().leaf().to_strings()[1], "b");
  }
  EXPECT_THAT(parse_dataset(serialize(words.batch(3))).iterator().next().leaf().to_strings(),
              ElementsAre("a", "b", "c"));
}

const PositionsCase kFromTensorSlicesCases[] = {
    {"rows", [] { return rows(7); }},
};
INSTANTIATE_TEST_SUITE_P(FromTensorSlices, Positions, testing::ValuesIn(kFromTensorSlicesCases), name_of_case);

}  // namespace
}  // namespace cohort::datasets::test
