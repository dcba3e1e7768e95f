#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/datasets/walking.h"

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
  auto walker = dataset.walk();
  Tensors element;
  ASSERT_TRUE(walker->next(element));
  ASSERT_TRUE(walker->next(element));
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
  auto walker = words.walk();
  Tensors element;
  ASSERT_TRUE(walker->next(element));
  ASSERT_TRUE(walker->next(element));
  EXPECT_THAT(element[0].to_strings(), ElementsAre("b"));
  for (const Dataset& batches :
       {words.batch(2), words.shuffle(1).cache().prefetch(1).batch(2), words.repeat().batch(7)}) {
    EXPECT_THAT(batches.iterator().next().leaf().to_strings()[1], "b");
  }
  EXPECT_THAT(parse_dataset(serialize(words.batch(3))).iterator().next().leaf().to_strings(),
              ElementsAre("a", "b", "c"));
}

TEST(Range, CountsUpAndDown) {
  EXPECT_THAT(numbers(range(4)), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(numbers(range(2, 9, 3)), ElementsAre(2, 5, 8));
  EXPECT_THAT(numbers(range(2, 8, 3)), ElementsAre(2, 5));
  EXPECT_THAT(numbers(range(3, 0, -1)), ElementsAre(3, 2, 1));
  EXPECT_THAT(numbers(range(3, 0)), ElementsAre());
  EXPECT_EQ(range(INT64_MIN, INT64_MAX, INT64_MAX).cardinality(), 3);
  EXPECT_THROW(range(0, 3, 0), Error);
  EXPECT_THROW(range(INT64_MIN, INT64_MAX), Error);
}

TEST(Iterator, EndsWithOutOfRange) {
  const Iterator iterator = range(1).iterator();
  EXPECT_EQ(iterator.next().leaf().item<std::int64_t>(), 0);
  try {
    iterator.next();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::OutOfRange);
    EXPECT_THAT(error.what(), HasSubstr(".repeat()"));
  }
}

TEST(Iterator, GivesAsManyTensorsAsAreNamed) {
  const Tensor x = Tensor::of<float>({1, 2}, {2}), y = Tensor::of<float>({3, 4}, {2});
  const Iterator iterator = from_tensor_slices(x, y).iterator();
  auto [a, b] = iterator.next<2>();
  EXPECT_EQ(a.item<float>(), 1);
  EXPECT_EQ(b.item<float>(), 3);
  EXPECT_THAT([&] { iterator.next<3>(); },
              ThrowsMessage<Error>("Iterator.next: as many names as an element has tensors are expected. Received: "
                                   "names=3, element=(float32(), float32())."));
}

TEST(Dataset, SaysWhatIsMissing) {
  EXPECT_THAT([] { Dataset().batch(2); }, ThrowsMessage<Error>(HasSubstr("from_tensor_slices")));
  EXPECT_THAT([] { Dataset::make("zebra", {}, {}); },
              ThrowsMessage<Error>(HasSubstr("kind='zebra'. Known kinds: batch, ")));
  EXPECT_THROW(Dataset::make("batch", {}, {{"batch_size", 3}}), Error);
  EXPECT_THROW(Dataset::make("batch", {range(3)}, {}), Error);
}

TEST(ParseDataset, RefusesDamagedBytes) {
  const std::string bytes = serialize(rows(5).shuffle(3).batch(2));
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    try {  // what is cut between two stages is a dataset still
      parse_dataset(bytes.substr(0, length));
    } catch (const Error&) {
    }
  }
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x41);
    try {
      all(parse_dataset(damaged).take(10));
    } catch (const Error&) {
    }
  }
  EXPECT_THROW(parse_dataset(""), Error);
  EXPECT_THROW(parse_dataset("what is this"), Error);
}

}  // namespace
}  // namespace cohort::datasets::test
