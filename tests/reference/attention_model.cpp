// Attention: a causal transformer block over tokens, its scores, and a mask of padding.
#include <cohort/cohort.h>

#include "check.h"

namespace ch = cohort;
namespace layers = ch::layers;
namespace ops = ch::ops;

int main() {
  ch::set_random_seed(20);
  constexpr std::int64_t kSteps = 8, kVocabulary = 12;
  // The next token repeats the one three steps before.
  const ch::Tensor seed = ops::random_uniform({160, 3}, 1, kVocabulary, ch::DType::Int32);
  const ch::Tensor sequence = ops::tile(seed, {1, 3});
  const ch::Tensor x = ops::slice(sequence, {0, 0}, {160, kSteps});
  const ch::Tensor y = ops::slice(sequence, {0, 1}, {160, kSteps});

  const ch::SymbolicTensor tokens = ch::Input({kSteps}, {.dtype = ch::DType::Int32});
  const ch::SymbolicTensor positions = ch::Input({kSteps}, {.dtype = ch::DType::Int32});
  ch::SymbolicTensor h =
      layers::Embedding(kVocabulary, 24, {.mask_zero = true})(tokens) + layers::Embedding(kSteps, 24)(positions);
  layers::MultiHeadAttention attention(2, 12, {.dropout = 0.0});
  const auto [attended, scores] = attention.with_scores(h, h, {.use_causal_mask = true});
  h = layers::LayerNormalization()(h + attended);
  h = layers::LayerNormalization()(h + layers::Dense(24)(layers::Dense(48, {.activation = "gelu"})(h)));
  const ch::SymbolicTensor logits = layers::Dense(kVocabulary)(h);

  ch::Model model({tokens, positions}, logits);
  model.compile({.optimizer = ch::optimizers::Adam(1e-2),
                 .loss = ch::losses::SparseCategoricalCrossentropy({.from_logits = true})});
  const ch::Tensor place = ops::broadcast_to(ops::arange(0, kSteps), {160, kSteps});
  const ch::History history = model.fit({x, place}, y, {.batch_size = 16, .epochs = 12, .verbose = 0});
  check(history["loss"].back() < 0.5 * history["loss"].front(), "the loss is halved");

  // From step 2 on the answer has been seen.
  const ch::Tensor guess = ops::argmax(model.predict({x, place}, {.verbose = 0}), -1);
  const ch::Tensor hit = ops::cast(ops::equal(ops::cast(guess, ch::DType::Int32), y), ch::DType::Float32);
  const double late = ops::mean(ops::slice(hit, {0, 2}, {160, kSteps - 2})).item<double>();
  check(late > 0.9, "it finds the token three steps before: " + std::to_string(late));

  ch::Model inspect({tokens, positions}, scores);
  const ch::Tensor weights = inspect.predict({x, place}, {.verbose = 0});
  check(weights.shape() == ch::Shape({160, 2, kSteps, kSteps}), "scores are (batch, heads, steps, keys)");
  check(ops::max(ops::abs(ops::sum(weights, -1) - 1.0)).item<double>() < 1e-5, "they sum to one");
  check(ops::take_at(ops::take_at(weights, 0, 2), 5, 2).to_vector<float>()[0] == 0.0F, "step 0 does not see step 5");
}
