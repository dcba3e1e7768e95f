#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "cohort/core/random.h"
#include "cohort/core/thread_pool.h"
#include "cohort/core/thread_share.h"
#include "cohort/datasets/datasets.h"
#include "cohort/layers/layers.h"
#include "cohort/losses/losses.h"
#include "cohort/model/layer/dtype_policy.h"
#include "cohort/model/sequential.h"
#include "cohort/ops/cast.h"
#include "cohort/ops/math.h"
#include "cohort/ops/random_ops.h"
#include "cohort/optimizers/optimizers.h"
#include "tests/model/small_models.h"
#include "tests/support/thread_rounds.h"

namespace cohort {
namespace {

// The README's model on made-up images: shuffle, dropout, kernels that spread over threads.
std::vector<float> train(std::uint64_t seed, int threads) {
  ThreadPool& pool = ThreadPool::instance();
  const int before = pool.threads();
  pool.set_threads(threads);
  set_random_seed(seed);
  std::vector<std::uint8_t> pixels(512 * 28 * 28);
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>((i * 7919) % 251);
  std::vector<std::uint8_t> labels(512);
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<std::uint8_t>(i % 10);
  const Dataset data =
      datasets::from_tensor_slices(Tensor::of(pixels, {512, 28, 28}, cpu()), Tensor::of(labels, {512}, cpu()));
  Sequential model({layers::Rescaling(1.0 / 255), layers::Flatten(), layers::Dense(128, {.activation = "relu"}),
                    layers::Dropout(0.2), layers::Dense(10)});
  model.compile({.optimizer = optimizers::Adam(1e-3),
                 .loss = losses::SparseCategoricalCrossentropy({.from_logits = true}),
                 .metrics = {"accuracy"},
                 .steps_per_execution = 3});
  model.fit(data.shuffle(512).batch(64).prefetch(2), {.epochs = 2, .verbose = 0});
  pool.set_threads(before);
  return testing_models::all_weights(model);
}

TEST(Repeatable, ASeedGivesTheSameBitsOnAnyNumberOfThreads) {
  const std::vector<float> one = train(3, 1);
  EXPECT_EQ(train(3, 1), one);
  EXPECT_EQ(train(3, 2), one);
  EXPECT_EQ(train(3, 4), one);
  EXPECT_NE(train(4, 2), one);
}

// Predicts over and over on a thread of its own, while somebody else trains.
class PredictingCaller {
 public:
  PredictingCaller()
      : model_({layers::Conv2D(8, 3, {.activation = "relu"}), layers::Flatten(), layers::Dense(64), layers::Dense(7)}),
        x_(ops::random_uniform({96, 12, 12, 3}, -1, 1, DType::Float32, 3)),
        first_(model_.predict(x_, {.verbose = 0}).to_host()),
        thread_([this] { run(); }) {}
  ~PredictingCaller() { stop(); }

  // Ends it; false when two predictions had different bits, or there was none.
  bool stop() {
    end_ = true;
    if (thread_.joinable()) thread_.join();
    return same_bits_ && predictions_ > 0;
  }

 private:
  void run() {
    for (; !end_ || predictions_ == 0; ++predictions_) {
      const Tensor y = model_.predict(x_, {.verbose = 0}).to_host();
      if (std::memcmp(y.raw(), first_.raw(), y.bytes()) != 0) same_bits_ = false;
    }
  }

  Sequential model_;
  Tensor x_, first_;
  std::atomic<bool> end_ = false, same_bits_ = true;
  std::atomic<int> predictions_ = 0;
  std::thread thread_;
};

std::shared_ptr<Model> stack_of(std::vector<Ref<Layer>> layers) { return std::make_shared<Sequential>(layers); }

std::shared_ptr<Model> dense_model() {
  return stack_of({layers::Dense(96, {.activation = "relu"}), layers::Dropout(0.3),
                   layers::Dense(96, {.activation = "tanh"}), layers::Dense(10)});
}
std::shared_ptr<Model> mixed_model() {
  mixed_precision::set_global_policy("mixed_bfloat16");
  const std::shared_ptr<Model> model = dense_model();
  mixed_precision::set_global_policy("float32");
  return model;
}
std::shared_ptr<Model> convolutional_model() {
  return stack_of({layers::Conv2D(16, 3), layers::BatchNormalization(), layers::Activation("relu"),
                   layers::MaxPooling2D(2), layers::Conv2D(24, 3), layers::GlobalAveragePooling2D(),
                   layers::Dense(10)});
}
std::shared_ptr<Model> recurrent_model() { return stack_of({layers::LSTM(24), layers::Dense(10)}); }
std::shared_ptr<Model> attention_model() {
  const SymbolicTensor input = Input({12, 32});
  const SymbolicTensor attended = layers::MultiHeadAttention(4, 8, {.dropout = 0.1})(input, input);
  SymbolicTensor x = layers::LayerNormalization()(layers::Add()({input, attended}));
  x = layers::Dense(64, {.activation = "gelu"})(x);
  return std::make_shared<Model>(input, layers::Dense(10)(layers::GlobalAveragePooling1D()(x)));
}

struct TrainingJob {
  const char* name;
  Shape x;
  std::shared_ptr<Model> (*make)();
};
const TrainingJob kTrainingJobs[] = {
    {"dense with dropout", {160, 80}, dense_model},
    {"dense in bfloat16", {160, 80}, mixed_model},
    {"convolution with batch norm", {160, 14, 14, 3}, convolutional_model},
    {"lstm", {160, 9, 12}, recurrent_model},
    {"attention", {160, 12, 32}, attention_model},
};

struct TrainedBits {
  std::vector<float> weights;
  std::vector<History::Series> history;
  bool operator==(const TrainedBits&) const = default;
};

TrainedBits train_job(const TrainingJob& job) {
  set_random_seed(3);
  const Tensor x = ops::random_uniform(job.x, -1, 1, DType::Float32, 1);
  const Tensor y = ops::cast(ops::floor(ops::random_uniform({job.x[0]}, 0, 10, DType::Float32, 2)), DType::Int32);
  const std::shared_ptr<Model> model = job.make();
  model->compile({.optimizer = optimizers::Adam(1e-3),
                  .loss = losses::SparseCategoricalCrossentropy({.from_logits = true}),
                  .metrics = {"accuracy"},
                  .steps_per_execution = 2});
  const History history = model->fit(x, y, {.batch_size = 48, .epochs = 2, .verbose = 0, .validation_split = 0.25});
  return {testing_models::all_weights(*model), history.history()};
}

TEST(Repeatable, TrainingHasTheSameBitsOnAnyNumberOfThreadsBesideAPrediction) {
  const test::PoolThreads threads;
  std::vector<TrainedBits> first;
  for (const test::ThreadRound& round : test::kThreadRounds) {
    SCOPED_TRACE(round.in_words());
    threads.set(round.threads);
    PredictingCaller predicting;
    const ThreadShare share(round.share);
    for (std::size_t i = 0; i < std::size(kTrainingJobs); ++i) {
      const TrainedBits trained = train_job(kTrainingJobs[i]);
      if (first.size() == i) first.push_back(trained);
      EXPECT_GT(trained.weights.size(), 1000u);
      EXPECT_EQ(trained.history.size(), 4u);
      EXPECT_TRUE(trained == first[i]) << kTrainingJobs[i].name;
    }
    EXPECT_TRUE(predicting.stop());
  }
}

}  // namespace
}  // namespace cohort
