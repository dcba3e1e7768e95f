// A transformer's encoder block as a functional model that classifies sentences.
// Usage: transformer_classifier [--smoke]
#include <cohort/cohort.h>

#include <iostream>

#include "example_data.h"

namespace ch = cohort;
namespace layers = cohort::layers;

namespace {

// Adds what stands where to what stands there: a layer of one's own with an embedding inside.
class PositionEmbedding : public ch::Layer {
 public:
  void build(const ch::Shape& input) override {
    positions_ = add_weight("positions", {input[1], input[2]}, {.initializer = "uniform"});
  }
  ch::Tensor call(const ch::Tensor& x, const ch::CallContext&) override { return x + positions_; }

 private:
  ch::Variable positions_;
};

ch::SymbolicTensor encoder(const ch::SymbolicTensor& input, std::int64_t heads, std::int64_t width) {
  const std::int64_t features = input.shape().back();
  ch::SymbolicTensor x = layers::MultiHeadAttention(heads, features / heads)(input, input);
  x = layers::Dropout(0.1)(x);
  const ch::SymbolicTensor attended = layers::LayerNormalization()(input + x);
  x = layers::Dense(width, {.activation = "gelu"})(attended);
  x = layers::Dense(features)(x);
  x = layers::Dropout(0.1)(x);
  return layers::LayerNormalization()(attended + x);
}

}  // namespace

int main(int count, char** values) {
  const bool smoke = example::is_smoke(count, values);
  ch::set_random_seed(1);
  const std::int64_t words = smoke ? 40 : 2000, length = smoke ? 12 : 80;
  const auto [x, y] = example::sentences(smoke ? 256 : 8192, length, words);
  ch::SymbolicTensor tokens = ch::Input({length}, {.dtype = ch::DType::Int32});
  ch::SymbolicTensor h = ch::make<PositionEmbedding>()(layers::Embedding(words, 32)(tokens));
  h = encoder(h, 2, 64);
  h = layers::GlobalAveragePooling1D()(h);
  ch::Model model(tokens, layers::Dense(1, {.activation = "sigmoid"})(h));
  model.compile(
      {.optimizer = ch::optimizers::Adam(smoke ? 3e-3 : 1e-3), .loss = "binary_crossentropy", .metrics = {"accuracy"}});
  const ch::History history =
      model.fit(x, y, {.batch_size = 32, .epochs = smoke ? 10 : 3, .verbose = smoke ? 0 : 1, .validation_split = 0.2});
  std::cout << "Validation accuracy: " << history["val_accuracy"].back() << "\n";
}
