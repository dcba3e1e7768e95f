#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cohort/datasets/datasets.h"

namespace cohort {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(Iterator, EndsWithOutOfRange) {
  const Iterator iterator = datasets::range(1).iterator();
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
  const Iterator iterator = datasets::from_tensor_slices(x, y).iterator();
  auto [a, b] = iterator.next<2>();
  EXPECT_EQ(a.item<float>(), 1);
  EXPECT_EQ(b.item<float>(), 3);
  EXPECT_THAT([&] { iterator.next<3>(); },
              ThrowsMessage<Error>("Iterator.next: as many names as an element has tensors are expected. Received: "
                                   "names=3, element=(float32(), float32())."));
}

}  // namespace
}  // namespace cohort
