#include "cohort/layers/core/embedding.h"

#include <gtest/gtest.h>

#include "cohort/autodiff/tape.h"
#include "cohort/core/masks.h"
#include "cohort/graph/function.h"
#include "tests/support/op_check.h"

namespace cohort::layers {
namespace {

const std::vector<float> kTable = {0, 1, 10, 11, 20, 21};

Embedding three_rows(bool mask_zero = false) {
  return Embedding(3, 2, {.mask_zero = mask_zero, .weights = Tensor::of(kTable, {3, 2}), .name = "words"});
}

TEST(Embedding, PicksARowForEachId) {
  const Embedding embedding = three_rows();
  const Tensor ids = Tensor::of<std::int32_t>({2, 0, 1, 1}, {2, 2});
  test::expect_tensor(embedding(ids), DType::Float32, {2, 2, 2}, {20, 21, 0, 1, 10, 11, 10, 11});
  EXPECT_EQ(embedding->weights()[0].name(), "embeddings");
  // Ids may come as any number: bytes, floats, 64-bit integers.
  test::expect_values(embedding(Tensor::of<std::uint8_t>({1}, {1})), {10, 11}, 0);
  test::expect_values(embedding(Tensor::of<float>({2}, {1})), {20, 21}, 0);
  test::expect_values(embedding(Tensor::of<std::int64_t>({2}, {1})), {20, 21}, 0);
}

TEST(Embedding, MaskZeroMarksPadding) {
  MaskScope scope;
  const Tensor ids = Tensor::of<std::int32_t>({2, 0}, {1, 2});
  test::expect_tensor(mask_of(three_rows(true)(ids)), DType::Bool, {1, 2}, {1, 0});
  EXPECT_FALSE(mask_of(three_rows(false)(ids)).defined());
}

TEST(Embedding, RowsThatWereUsedTwiceGetBothGradients) {
  const Embedding embedding = three_rows();
  const Tensor ids = Tensor::of<std::int32_t>({2, 2, 0}, {3});
  embedding(ids);
  GradientTape tape;
  const Tensor y = embedding(ids);
  test::expect_values(tape.gradient(y, embedding->weights()[0].handle()), {1, 1, 0, 0, 2, 2}, 0);
}

TEST(Embedding, IdsOutsideTheVocabularyAreErrorsThatNameTheLayer) {
  const Embedding embedding = three_rows();
  test::expect_error(
      [&] {
        embedding(Tensor::of<std::int32_t>({0, 3}, {2}));
      },
      {"Embedding 'words'", "[0, 3)", "indices[1]=3"});
  test::expect_error([&] { embedding(Tensor::of<std::int32_t>({-1}, {1})); }, {"Embedding 'words'", "-1"});
  const Function traced =
      function([&](const Tensor& x) { return embedding(x); }, {.input_signature = {{int32, {kUnknown, 2}}}});
  test::expect_error(
      [&] {
        traced(Tensor::of<std::int32_t>({0, 7}, {1, 2}))[0].to_host();
      },
      {"words/", "[0, 3)", "indices[1]=7"});
}

TEST(Embedding, WrongOptionsAreErrors) {
  test::expect_error([] { Embedding(0, 2); }, {"Embedding", "input_dim", "0"});
  test::expect_error([] { Embedding(2, -1); }, {"Embedding", "output_dim", "-1"});
  test::expect_error(
      [] {
        Embedding(2, 2, {.weights = Tensor::of(kTable, {3, 2})});
      },
      {"Embedding", "(2, 2)", "weights.shape=(3, 2)"});
}

}  // namespace
}  // namespace cohort::layers
