#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cohort/datasets/utilities/pad_sequences.h"
#include "cohort/datasets/utilities/to_categorical.h"
#include "tests/support/error_of.h"

namespace cohort::datasets::test {
namespace {

using cohort::test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;
using utils::pad_sequences;
using utils::to_categorical;

const std::vector<std::vector<std::int64_t>> kStairs{{1}, {2, 3}, {4, 5, 6}};

TEST(ToCategorical, GivesRowsWithAOneAtTheLabel) {
  const Tensor rows = to_categorical(Tensor::of<std::int32_t>({0, 2}, {2}));
  EXPECT_EQ(rows.spec(), (TensorSpec{DType::Float32, {2, 3}}));
  EXPECT_THAT(rows.to_vector<float>(), ElementsAre(1, 0, 0, 0, 0, 1));
  EXPECT_THAT(to_categorical(Tensor::of<std::int64_t>({0, -1}, {2}), 3).to_vector<float>(),
              ElementsAre(1, 0, 0, 0, 0, 1));
}

TEST(ToCategorical, DropsALastAxisOfOne) {
  EXPECT_EQ(to_categorical(Tensor::of<std::int32_t>({0, 2}, {2, 1})).shape(), (Shape{2, 3}));
  EXPECT_EQ(to_categorical(Tensor::of<std::int32_t>({1}, {1}), 4).shape(), (Shape{1, 4}));
  EXPECT_EQ(to_categorical(Tensor::of<std::int32_t>({0, 1, 1, 0}, {2, 2}), 2).shape(), (Shape{2, 2, 2}));
}

TEST(ToCategorical, RefusesLabelsBeyondTheClasses) {
  const auto error = [](std::int32_t label) {
    return error_of([&] { to_categorical(Tensor::of<std::int32_t>({label}, {1}), 2); });
  };
  EXPECT_THAT(error(2), HasSubstr("Received: label=2, num_classes=2"));
  EXPECT_THAT(error(-3), HasSubstr("label=-3"));
  EXPECT_THAT(error_of([] { to_categorical(Tensor::of<std::int32_t>({}, {0})); }), HasSubstr("at least one label"));
}

TEST(PadSequences, FillsAndCutsBeforeOrBehind) {
  EXPECT_THAT(pad_sequences(kStairs).to_vector<int>(), ElementsAre(0, 0, 1, 0, 2, 3, 4, 5, 6));
  EXPECT_THAT(pad_sequences(kStairs, {.maxlen = 2}).to_vector<int>(), ElementsAre(0, 1, 2, 3, 5, 6));
  EXPECT_THAT(pad_sequences(kStairs, {.maxlen = 2, .truncating = "post"}).to_vector<int>(),
              ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(pad_sequences(kStairs, {.padding = "post", .value = -1}).to_vector<int>(),
              ElementsAre(1, -1, -1, 2, 3, -1, 4, 5, 6));
  EXPECT_EQ(pad_sequences(kStairs, {.maxlen = 5}).spec(), (TensorSpec{DType::Int32, {3, 5}}));
}

TEST(PadSequences, NumbersBecomeTheTypeAskedFor) {
  const std::vector<std::vector<double>> halves{{1.5}, {}, {2.5, 3.5}};
  EXPECT_THAT(pad_sequences(halves).to_vector<double>(), ElementsAre(0, 1, 0, 0, 2, 3));
  EXPECT_THAT(pad_sequences(halves, {.dtype = DType::Float32, .value = 0.5}).to_vector<double>(),
              ElementsAre(0.5, 1.5, 0.5, 0.5, 2.5, 3.5));
  EXPECT_THAT(error_of([&] { pad_sequences(halves, {.dtype = DType::String}); }), HasSubstr("dtype=string"));
}

TEST(PadSequences, StepsMayHaveAxes) {
  const Tensors sequences{Tensor::of<float>({1, 2}, {1, 2}), Tensor::of<float>({3, 4, 5, 6}, {2, 2})};
  const Tensor padded = pad_sequences(sequences, {.dtype = DType::Float32});
  EXPECT_EQ(padded.shape(), (Shape{2, 2, 2}));
  EXPECT_THAT(padded.to_vector<float>(), ElementsAre(0, 0, 1, 2, 3, 4, 5, 6));
  EXPECT_THAT(error_of([&] {
                pad_sequences(Tensors{sequences[0], Tensor::of<float>({1}, {1, 1})});
              }),
              HasSubstr("Steps of one shape"));
}

TEST(PadSequences, RefusesOtherPlaces) {
  EXPECT_THAT(error_of([] { pad_sequences(kStairs, {.padding = "both"}); }), HasSubstr("padding=both"));
  EXPECT_THAT(error_of([] { pad_sequences(kStairs, {.truncating = ""}); }), HasSubstr("truncating"));
  EXPECT_THAT(error_of([] { pad_sequences(kStairs, {.maxlen = -1}); }), HasSubstr("maxlen=-1"));
}

}  // namespace
}  // namespace cohort::datasets::test
