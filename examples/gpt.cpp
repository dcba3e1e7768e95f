// A small GPT: learns a text character by character and writes on from a beginning.
// Usage: gpt [--smoke | TEXT_FILE]
#include <cohort/cohort.h>

#include <cmath>
#include <fstream>
#include <iostream>
#include <random>
#include <sstream>
#include <string>

#include "example_data.h"

namespace ch = cohort;
namespace layers = cohort::layers;

namespace {

constexpr std::int64_t kContext = 32, kCharacters = 128;

ch::SymbolicTensor block(const ch::SymbolicTensor& input, std::int64_t heads) {
  const std::int64_t features = input.shape().back();
  const ch::SymbolicTensor seen = layers::LayerNormalization()(input);
  const ch::SymbolicTensor x =
      input + layers::MultiHeadAttention(heads, features / heads)(seen, seen, {.use_causal_mask = true});
  ch::SymbolicTensor y = layers::Dense(4 * features, {.activation = "gelu"})(layers::LayerNormalization()(x));
  return x + layers::Dense(features)(y);
}

ch::Ref<ch::Model> gpt(std::int64_t features, int depth) {
  ch::SymbolicTensor tokens = ch::Input({kContext}, {.dtype = ch::DType::Int32});
  // A position's number is how many tokens stand before it.
  const ch::SymbolicTensor places = ch::ops::cumsum(ch::ops::ones_like(tokens), 1) - 1;
  ch::SymbolicTensor x =
      layers::Embedding(kCharacters, features)(tokens) + layers::Embedding(kContext, features)(places);
  for (int i = 0; i < depth; ++i) x = block(x, 4);
  return ch::make<ch::Model>(tokens, layers::Dense(kCharacters)(layers::LayerNormalization()(x)));
}

std::string text_of(const char* file) {
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

std::string repeated(const std::string& sentence) {
  std::string text;
  for (int i = 0; i < 20; ++i) text += sentence;
  return text;
}

// Every stretch of the text, and the same one character further on.
ch::Dataset stretches(const std::string& text) {
  std::vector<std::int32_t> x, y;
  std::int64_t count = 0;
  for (std::size_t at = 0; at + kContext < text.size(); at += kContext / 4, ++count) {
    for (std::size_t i = at; i < at + kContext; ++i) {
      x.push_back(text[i] & 127);
      y.push_back(text[i + 1] & 127);
    }
  }
  return ch::datasets::from_tensor_slices(ch::Tensor::of(x, {count, kContext}), ch::Tensor::of(y, {count, kContext}));
}

// Draws character after character from what the model expects next; a low temperature keeps to the likeliest.
std::string written_on(ch::Model& model, std::string text, int characters, double temperature) {
  std::mt19937 random(1);
  for (int i = 0; i < characters; ++i) {
    const std::size_t begin = text.size() > kContext ? text.size() - kContext : 0, used = text.size() - begin;
    std::vector<std::int32_t> window(kContext, 0);
    for (std::size_t t = 0; t < used; ++t) window[t] = text[begin + t] & 127;
    const std::vector<float> logits = model.predict_on_batch(ch::Tensor::of(window, {1, kContext})).to_vector<float>();
    std::vector<double> weights;
    for (std::int64_t c = 0; c < kCharacters; ++c) {
      weights.push_back(std::exp(logits[(used - 1) * kCharacters + static_cast<std::size_t>(c)] / temperature));
    }
    text += static_cast<char>(std::discrete_distribution<int>(weights.begin(), weights.end())(random));
  }
  return text;
}

}  // namespace

int main(int count, char** values) {
  const bool smoke = example::is_smoke(count, values);
  ch::set_random_seed(1);
  const std::string text =
      count > 1 && !smoke ? text_of(values[1]) : repeated("the quick brown fox jumps over the lazy dog. ");
  const auto model = gpt(smoke ? 32 : 128, smoke ? 1 : 4);
  model->compile({.optimizer = ch::optimizers::Adam(smoke ? 1e-2 : 1e-3),
                  .loss = ch::losses::SparseCategoricalCrossentropy({.from_logits = true})});
  const ch::History history =
      model->fit(stretches(text).shuffle(100000).batch(32), {.epochs = smoke ? 30 : 10, .verbose = smoke ? 0 : 1});
  std::cout << "Loss: " << history["loss"].back() << "\n";
  std::cout << written_on(*model, "the quick ", smoke ? 20 : 200, 0.5) << "\n";
}
