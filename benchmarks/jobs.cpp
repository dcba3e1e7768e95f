#include "benchmarks/jobs.h"

#include <map>

namespace cohort::bench {
namespace {

Tensor floats(const Shape& shape, std::mt19937& random) {
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<std::size_t>(shape.num_elements()));
  for (float& value : values) value = normal(random);
  return Tensor::of(values, shape);
}

// Numbers in [0, end), as int32.
Tensor ids(const Shape& shape, int end, std::mt19937& random) {
  std::uniform_int_distribution<std::int32_t> pick(0, end - 1);
  std::vector<std::int32_t> values(static_cast<std::size_t>(shape.num_elements()));
  for (std::int32_t& value : values) value = pick(random);
  return Tensor::of(values, shape);
}

std::unique_ptr<Model> sequential(std::vector<Ref<Layer>> layers) {
  return std::make_unique<Sequential>(std::move(layers));
}

LossArgument cross_entropy() { return losses::SparseCategoricalCrossentropy({.from_logits = true}); }

Job dense10(std::int64_t) {
  return {.batch = 64,
          .batches = 200,
          .loss = "mse",
          .make_model = [] { return sequential({layers::Dense(10)}); },
          .make_data =
              [](std::int64_t samples, std::mt19937& random) {
                const Tensor x = floats({samples, 10}, random);
                return std::pair(x, floats({samples, 10}, random));
              }};
}

Job mlp(std::int64_t) {
  return {.batch = 128,
          .batches = 40,
          .loss = cross_entropy(),
          .make_model =
              [] {
                return sequential({layers::Dense(512, {.activation = "relu"}),
                                   layers::Dense(512, {.activation = "relu"}), layers::Dense(10)});
              },
          .make_data =
              [](std::int64_t samples, std::mt19937& random) {
                const Tensor x = floats({samples, 784}, random);
                return std::pair(x, ids({samples}, 10, random));
              }};
}

Job small_cnn(std::int64_t) {
  return {.batch = 128,
          .batches = 10,
          .loss = cross_entropy(),
          .make_model =
              [] {
                return sequential({layers::Conv2D(32, 3, {.activation = "relu"}), layers::MaxPooling2D(2),
                                   layers::Conv2D(64, 3, {.activation = "relu"}), layers::MaxPooling2D(2),
                                   layers::Flatten(), layers::Dropout(0.5), layers::Dense(10)});
              },
          .make_data =
              [](std::int64_t samples, std::mt19937& random) {
                const Tensor x = floats({samples, 28, 28, 1}, random);
                return std::pair(x, ids({samples}, 10, random));
              }};
}

Job lstm(std::int64_t) {
  return {.batch = 32,
          .batches = 10,
          .loss = cross_entropy(),
          .make_model =
              [] {
                return sequential({layers::Embedding(20000, 128), layers::LSTM(128), layers::Dense(2)});
              },
          .make_data =
              [](std::int64_t samples, std::mt19937& random) {
                const Tensor x = ids({samples, 80}, 20000, random);
                return std::pair(x, ids({samples}, 2, random));
              }};
}

constexpr int kVocabulary = 1000, kSteps = 64;

std::unique_ptr<Model> make_transformer() {
  constexpr int kSize = 128, kHeads = 4, kBlocks = 2;
  const SymbolicTensor input = Input({kSteps}, {.dtype = int32});
  SymbolicTensor x = layers::Embedding(kVocabulary, kSize)(input);
  for (int block = 0; block < kBlocks; ++block) {
    SymbolicTensor h = layers::LayerNormalization()(x);
    x = layers::Add()({x, layers::MultiHeadAttention(kHeads, kSize / kHeads)(h, h, {.use_causal_mask = true})});
    h = layers::LayerNormalization()(x);
    x = layers::Add()({x, layers::Dense(kSize)(layers::Dense(4 * kSize, {.activation = "gelu"})(h))});
  }
  return std::make_unique<Model>(input, layers::Dense(kVocabulary)(layers::LayerNormalization()(x)));
}

Job transformer(std::int64_t) {
  return {.batch = 16,
          .batches = 10,
          .loss = cross_entropy(),
          .make_model = make_transformer,
          .make_data = [](std::int64_t samples, std::mt19937& random) {
            const Tensor x = ids({samples, kSteps}, kVocabulary, random);
            return std::pair(x, ids({samples, kSteps}, kVocabulary, random));
          }};
}

// Many small kernels, and gradients that vanish on the way back.
Job thin(std::int64_t number_of_layers) {
  return {.batch = 64,
          .batches = 20,
          .loss = "mse",
          .make_model =
              [number_of_layers] {
                std::vector<Ref<Layer>> all;
                for (std::int64_t i = 0; i < number_of_layers; ++i)
                  all.push_back(layers::Dense(32, {.activation = "tanh"}));
                all.push_back(layers::Dense(1));
                return sequential(std::move(all));
              },
          .make_data =
              [](std::int64_t samples, std::mt19937& random) {
                const Tensor x = floats({samples, 32}, random);
                return std::pair(x, floats({samples, 1}, random));
              }};
}

const std::map<std::string, Job (*)(std::int64_t)> kJobs = {
    {"dense10", dense10},         {"lstm", lstm}, {"mlp", mlp}, {"small_cnn", small_cnn},
    {"transformer", transformer}, {"thin", thin}};

}  // namespace

Job make_job(const std::string& name, std::int64_t layers) { return kJobs.at(name)(layers); }

std::vector<std::string> job_names() {
  std::vector<std::string> names;
  for (const auto& [name, make] : kJobs) names.push_back(name);
  return names;
}

}  // namespace cohort::bench
