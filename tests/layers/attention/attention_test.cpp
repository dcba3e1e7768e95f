#include <gtest/gtest.h>

#include "cohort/core/masks.h"
#include "cohort/graph/function.h"
#include "cohort/layers/attention/additive_attention.h"
#include "cohort/layers/attention/attention.h"
#include "cohort/layers/attention/group_query_attention.h"
#include "cohort/layers/attention/multi_head_attention.h"
#include "cohort/variables/initializers/constant.h"
#include "tests/support/op_check.h"

namespace cohort::layers {
namespace {

Tensor spread(const Shape& shape, unsigned seed = 1) { return test::spread_tensor(shape, -1, 1, float32, seed); }

TEST(MultiHeadAttention, TheFusedWayGivesWhatTheScoresGive) {
  const MultiHeadAttention attention(2, 3, {.value_dim = 4, .sliding_window = 3});
  const Tensor query = spread({2, 5, 6}), value = spread({2, 5, 6}, 2);
  const Tensor fused = attention(query, value, {.use_causal_mask = true});
  const auto [output, scores] = attention.with_scores(query, value, {.use_causal_mask = true});
  EXPECT_EQ(scores.shape(), Shape({2, 2, 5, 5}));
  test::expect_values(output, fused.to_vector<double>(), 1e-6);
}

TEST(MultiHeadAttention, DropsInTrainingOnly) {
  const MultiHeadAttention attention(2, 3, {.dropout = 0.5, .seed = 3});
  const Tensor x = spread({2, 5, 6});
  const auto compute = [&](bool training) { return attention(x, x, {.training = training}).to_vector<float>(); };
  EXPECT_EQ(compute(false), compute(false));
  EXPECT_NE(compute(true), compute(false));
  EXPECT_NE(compute(true), compute(true));  // every call of eager code draws new numbers
}

TEST(MultiHeadAttention, CarriesTheQuerysMaskAndLooksAtNothingHidden) {
  MaskScope scope;
  const MultiHeadAttention attention(1, 2);
  const Tensor x = spread({1, 3, 4});
  set_mask(x, Tensor::of<bool>({true, true, false}, {1, 3}));
  const Tensor y = attention(x, x);
  test::expect_tensor(mask_of(y), DType::Bool, {1, 3}, {1, 1, 0});
  std::vector<float> changed = x.to_vector<float>();
  changed[8] += 5;
  const Tensor other = Tensor::of(changed, {1, 3, 4});
  set_mask(other, mask_of(x));
  const std::vector<float> a = y.to_vector<float>(), b = attention(other, other).to_vector<float>();
  EXPECT_EQ(std::vector<float>(a.begin(), a.begin() + 8), std::vector<float>(b.begin(), b.begin() + 8));
}

// Keras, with each kernel 0.3: where a query is masked every key is hidden from it, and its two ways then differ.
TEST(MultiHeadAttention, HidesEveryKeyFromAMaskedQuery) {
  MaskScope scope;
  const auto attention = [](double dropout) {
    return MultiHeadAttention(1, 2, {.dropout = dropout, .kernel_initializer = initializers::Constant(0.3)});
  };
  std::vector<float> queries, values;
  for (const int row : {1, 2, 0, 3, 0, 0}) {
    for (int i = 0; i < 4; ++i) queries.push_back(static_cast<float>(4 * row + i) / 10);
  }
  for (int i = 0; i < 24; ++i) values.push_back(static_cast<float>(i / 4 % 3));
  const Tensor query = Tensor::of(queries, {2, 3, 4}), value = Tensor::of(values, {2, 3, 4});
  set_mask(query, Tensor::of<bool>({true, true, false, true, false, false}, {2, 3}));
  const auto expect_first_features = [](const Tensor& output, const std::vector<double>& expected) {
    const std::vector<float> all = output.to_vector<float>();
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(all[4 * i], expected[i], 1e-4) << i;
  };
  expect_first_features(attention(0.0)(query, value), {1.1691, 1.3249, 0.72, 1.3914, 0.72, 0.72});
  expect_first_features(attention(0.5)(query, value), {1.1691, 1.3249, 0.0, 1.3914, 0.0, 0.0});
  const auto [output, scores] = attention(0.0).with_scores(query, value);
  expect_first_features(output, {1.1691, 1.3249, 0.0, 1.3914, 0.0, 0.0});
  test::expect_values(scores,
                      {0.0743, 0.2277, 0.698, 0.0179, 0.124, 0.8581, 0, 0, 0,  //
                       0.0038, 0.0599, 0.9363, 0, 0, 0, 0, 0, 0},
                      1e-4);
}

TEST(MultiHeadAttention, UnknownBatchesAndStepsTrace) {
  const MultiHeadAttention attention(2, 3);
  const auto call = [&](const Tensor& x) { return attention(x, x, {.use_causal_mask = true}); };
  const Function traced = function(call, {.input_signature = {{float32, {kUnknown, kUnknown, 4}}}});
  const Tensor x = spread({3, 5, 4});
  test::expect_tensor(Tensor(traced(x)), DType::Float32, {3, 5, 4}, call(x).to_vector<double>());
}

TEST(MultiHeadAttention, WrongOptionsAndShapesAreErrorsThatNameTheLayer) {
  test::expect_error([] { MultiHeadAttention(0, 2); }, {"MultiHeadAttention", "num_heads", "0"});
  test::expect_error([] { MultiHeadAttention(2, -1); }, {"MultiHeadAttention", "key_dim", "-1"});
  test::expect_error([] { MultiHeadAttention(2, 2, {.value_dim = 0}); }, {"value_dim", "0"});
  test::expect_error([] { MultiHeadAttention(2, 2, {.dropout = 2.0}); }, {"dropout", "2"});
  test::expect_error([] { MultiHeadAttention(2, 2, {.sliding_window = 0}); }, {"sliding_window", "0"});
  test::expect_error([] { MultiHeadAttention(2, 2, {.dropout = 0.1, .flash_attention = true}); }, {"flash"});
  const Tensor x = spread({2, 3, 4});
  const auto named = [](MultiHeadAttentionOptions options = {}) {
    options.name = "look";
    return MultiHeadAttention(2, 2, options);
  };
  test::expect_error(
      [&] {
        named()(spread({2, 4}), spread({2, 4}));
      },
      {"MultiHeadAttention 'look'", "3 axes", "(2, 4)"});
  test::expect_error([&] { named()(x); }, {"MultiHeadAttention 'look'", "query and value"});
  test::expect_error([&] { named()(x, x, {.key = spread({2, 5, 4})}); }, {"'look'", "(2, 5, 4)", "(2, 3, 4)"});
  test::expect_error([&] { named()(x, x, {.attention_mask = Tensor::full({2, 3, 7}, 1.0)}); }, {"'look'", "mask", "7"});
  test::expect_error([&] { named({.attention_axes = {{3}}})(x, x); }, {"'look'", "attention_axes"});
}

TEST(GroupQueryAttention, HeadsThatDoNotFitAreErrors) {
  test::expect_error([] { GroupQueryAttention(2, 4, 3); },
                     {"GroupQueryAttention", "multiple", "num_key_value_heads=3"});
  test::expect_error([] { GroupQueryAttention(2, 4, 0); }, {"num_key_value_heads", "0"});
  test::expect_error([] { GroupQueryAttention(0, 4, 2); }, {"head_dim", "0"});
  const GroupQueryAttention flat(2, 4, 2, {.name = "flat"});
  const Tensor images = spread({2, 3, 3, 4});
  test::expect_error([&] { flat(images, images); }, {"GroupQueryAttention 'flat'", "3 axes", "(2, 3, 3, 4)"});
  EXPECT_EQ(GroupQueryAttention(2, 4, 2)->name().substr(0, 23), "grouped_query_attention");
}

TEST(GroupQueryAttention, TheFusedWayGivesWhatTheScoresGive) {
  const GroupQueryAttention attention(3, 4, 2, {.use_gate = true});
  const Tensor query = spread({2, 5, 6}), value = spread({2, 4, 6}, 2);
  const Tensor fused = attention(query, value);
  test::expect_values(attention.with_scores(query, value).first, fused.to_vector<double>(), 1e-6);
}

TEST(Attention, WrongOptionsAndInputsAreErrors) {
  test::expect_error([] { Attention({.score_mode = "sum"}); }, {"Attention", "score_mode='sum'"});
  test::expect_error([] { AdditiveAttention({.dropout = -1.0}); }, {"AdditiveAttention", "dropout"});
  const Tensor x = spread({2, 3, 4});
  test::expect_error([&] { Attention({.name = "a"})(x); }, {"Attention 'a'", "[query, value]"});
  test::expect_error([&] { Attention({.name = "a"})(Tensors{x, spread({2, 3, 5})}); }, {"Attention 'a'", "(2, 3, 5)"});
}

}  // namespace
}  // namespace cohort::layers
