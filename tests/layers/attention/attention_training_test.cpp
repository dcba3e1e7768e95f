// Whole trainings with attention and embeddings.
#include <gtest/gtest.h>

#include <memory>

#include "cohort/core/random.h"
#include "cohort/layers/attention/attention.h"
#include "cohort/layers/attention/group_query_attention.h"
#include "cohort/layers/attention/multi_head_attention.h"
#include "cohort/layers/core/dense.h"
#include "cohort/layers/core/embedding.h"
#include "cohort/layers/merging/add.h"
#include "cohort/layers/pooling/global_pooling.h"
#include "cohort/model/model.h"
#include "cohort/optimizers/optimizers.h"
#include "tests/layers/warm_steps.h"
#include "tests/support/allocations.h"
#include "tests/support/op_check.h"

namespace cohort::layers {
namespace {

Dataset sentences(std::int64_t count, std::int64_t batch) {
  std::vector<std::int32_t> ids;
  for (std::int64_t i = 0; i < count * 6; ++i) ids.push_back(static_cast<std::int32_t>(i * i % 11 * (i % 6 != 5)));
  return Dataset::make("tensor_slices", {},
                       {{"structure", "(**)"},
                        {"tensor_0", Tensor::of(ids, {count, 6}).to_host()},
                        {"tensor_1", test::spread_tensor({count, 1}, -1, 1, float32, 2).to_host()}})
      .batch(batch);
}

// Padding is masked; one attention drops weights, one shares its keys, one has no projections.
std::unique_ptr<Model> classifier(const char* policy) {
  const SymbolicTensor ids = Input({6}, {.dtype = int32});
  SymbolicTensor x = Embedding(11, 8, {.mask_zero = true, .dtype = policy})(ids);
  x = Add()({x, MultiHeadAttention(2, 4, {.dropout = 0.1, .dtype = policy})(x, x, {.use_causal_mask = true})});
  x = Add()({x, GroupQueryAttention(4, 4, 2, {.sliding_window = 4, .dtype = policy})(x, x)});
  x = Dense(8, {.activation = "gelu", .dtype = policy})(x);
  x = layers::Attention({.use_scale = true, .dtype = policy})({x, x});
  return std::make_unique<Model>(ids, Dense(1)(GlobalAveragePooling1D()(x)));
}

TEST(AttentionTraining, AWarmStepAllocatesNothing) {
  if (!test::allocations_are_counted()) GTEST_SKIP() << "a sanitizer owns the heap";
  expect_no_allocations_in_warm_steps(*classifier("float32"), sentences(64, 8));
}

TEST(AttentionTraining, LearnsInEveryPrecision) {
  for (const char* policy : {"float32", "mixed_bfloat16", "float64"}) {
    SCOPED_TRACE(policy);
    set_random_seed(4);
    const auto made = classifier(policy);
    Model& model = *made;
    model.compile({.optimizer = optimizers::Adam(1e-2), .loss = "mse"});
    const History history = model.fit(sentences(16, 8), {.epochs = 60, .verbose = 0});
    EXPECT_LT(history["loss"].back(), 0.5 * history["loss"].front());
  }
}

TEST(AttentionTraining, MixedPrecisionComputesInBfloat16) {
  const Embedding embedding(5, 4, {.dtype = "mixed_bfloat16"});
  const Tensor x = embedding(Tensor::of<std::int32_t>({1, 2, 3}, {1, 3}));
  EXPECT_EQ(x.dtype(), bfloat16);
  EXPECT_EQ(embedding->weights()[0].dtype(), float32);
  const MultiHeadAttention mixed(2, 4, {.dtype = "mixed_bfloat16"}), plain(2, 4);
  const Tensor wide = test::spread_tensor({2, 3, 4}, -1, 1, float32);
  const Tensor y = mixed(wide, wide);
  EXPECT_EQ(y.dtype(), bfloat16);
  plain(wide, wide);
  plain->set_weights(mixed->get_weights());
  test::expect_values(y, plain(wide, wide).to_vector<double>(), 2e-2);
}

}  // namespace
}  // namespace cohort::layers
