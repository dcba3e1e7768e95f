#include "cohort/core/shape.h"

#include <gtest/gtest.h>

#include "cohort/core/error.h"

namespace cohort {
namespace {

TEST(Shape, KnowsItsSizes) {
  const Shape shape{2, 3, 4};
  EXPECT_EQ(shape.rank(), 3);
  EXPECT_EQ(shape[1], 3);
  EXPECT_EQ(shape.dim(-1), 4);
  EXPECT_EQ(shape.front(), 2);
  EXPECT_EQ(shape.back(), 4);
  EXPECT_EQ(shape.num_elements(), 24);
  EXPECT_EQ(shape.to_vector(), (std::vector<std::int64_t>{2, 3, 4}));
  EXPECT_EQ(Shape(std::vector<std::int64_t>{2, 3, 4}), shape);
  EXPECT_EQ(Shape().num_elements(), 1);
  EXPECT_TRUE(Shape().empty());
  EXPECT_EQ((Shape{3, 0}).num_elements(), 0);
}

TEST(Shape, UnknownAxes) {
  const Shape shape{kUnknown, 10};
  EXPECT_FALSE(shape.fully_known());
  EXPECT_EQ(shape.num_elements(), kUnknown);
  EXPECT_TRUE(shape.compatible({32, 10}));
  EXPECT_TRUE(shape.compatible({32, kUnknown}));
  EXPECT_FALSE(shape.compatible({32, 11}));
  EXPECT_FALSE(shape.compatible({10}));
  EXPECT_NE(shape, (Shape{32, 10}));
}

TEST(Shape, PrintsAsKerasDoes) {
  EXPECT_EQ((Shape{32, kUnknown, 10}).to_string(), "(32, None, 10)");
  EXPECT_EQ((Shape{5}).to_string(), "(5,)");
  EXPECT_EQ(Shape().to_string(), "()");
}

TEST(Shape, RefusesWhatIsNoShape) {
  EXPECT_THROW(Shape({-2}), Error);
  EXPECT_THROW(Shape({1, 1, 1, 1, 1, 1, 1, 1, 1}), Error);
  EXPECT_THROW((Shape{1, 2}).dim(2), Error);
  EXPECT_THROW((Shape{1, 2}).dim(-3), Error);
  EXPECT_THROW(Shape().back(), Error);
}

TEST(Shape, Slices) {
  const Shape shape{2, 3, 4};
  EXPECT_EQ(shape.slice(1), (Shape{3, 4}));
  EXPECT_EQ(shape.slice(0, 2), (Shape{2, 3}));
  EXPECT_EQ(shape.slice(2, 2), Shape());
  EXPECT_EQ(shape.slice(3), Shape());
}

TEST(Shape, Broadcasts) {
  EXPECT_EQ(broadcast_shapes({2, 3}, {3}, "Add"), (Shape{2, 3}));
  EXPECT_EQ(broadcast_shapes({2, 1}, {1, 3}, "Add"), (Shape{2, 3}));
  EXPECT_EQ(broadcast_shapes({}, {4, 5}, "Add"), (Shape{4, 5}));
  EXPECT_EQ(broadcast_shapes({0, 3}, {1, 3}, "Add"), (Shape{0, 3}));
  EXPECT_EQ(broadcast_shapes({kUnknown, 3}, {1}, "Add"), (Shape{kUnknown, 3}));
  EXPECT_EQ(broadcast_shapes({kUnknown, 3}, {kUnknown, 1}, "Add"), (Shape{kUnknown, 3}));
  EXPECT_EQ(broadcast_shapes({kUnknown, 3}, {7, 3}, "Add"), (Shape{7, 3}));
  try {
    broadcast_shapes({2, 3}, {4}, "Add");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "Add: shapes must be equal or broadcast (axes from the back equal, or 1). Received: a.shape=(2, 3), "
                 "b.shape=(4,).");
  }
}

TEST(Shape, NormalizesAxes) {
  EXPECT_EQ(normalize_axis(-1, 3, "Sum"), 2);
  EXPECT_EQ(normalize_axis(0, 3, "Sum"), 0);
  EXPECT_THROW(normalize_axis(3, 3, "Sum"), Error);
  EXPECT_THROW(normalize_axis(-4, 3, "Sum"), Error);
  EXPECT_THROW(normalize_axis(0, 0, "Sum"), Error);
}

TEST(Shape, RowMajorStrides) {
  const auto strides = row_major_strides({2, 3, 4});
  EXPECT_EQ(strides[0], 12);
  EXPECT_EQ(strides[1], 4);
  EXPECT_EQ(strides[2], 1);
}

}  // namespace
}  // namespace cohort
