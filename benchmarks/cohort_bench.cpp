// The training jobs of the peers, written as a user would: cohort-bench --job dense10 prints one JSON line.
#include <cohort/cohort.h>
#include <cohort/core/cpu_level.h>
#include <cohort/core/thread_pool.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <sstream>

#include "benchmarks/command_line.h"

namespace ch = cohort;

namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Seconds since the operating system started this process, libraries included.
double process_age() {
  std::ifstream stat("/proc/self/stat"), uptime("/proc/uptime");
  std::string text((std::istreambuf_iterator<char>(stat)), std::istreambuf_iterator<char>());
  std::istringstream fields(text.substr(text.rfind(')') + 2));
  std::string field;
  for (int i = 0; i < 20; ++i) fields >> field;  // the 22nd field, counted from the process id
  double up = 0.0;
  uptime >> up;
  return up - std::stod(field) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

ch::Tensor floats(const ch::Shape& shape, std::mt19937& random) {
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<std::size_t>(shape.num_elements()));
  for (float& value : values) value = normal(random);
  return ch::Tensor::of(values, shape);
}

ch::Tensor labels(std::int64_t count, int classes, std::mt19937& random) {
  std::uniform_int_distribution<std::int32_t> pick(0, classes - 1);
  std::vector<std::int32_t> values(static_cast<std::size_t>(count));
  for (std::int32_t& value : values) value = pick(random);
  return ch::Tensor::of(values, {count});
}

struct Job {
  std::unique_ptr<ch::Model> model;
  ch::Tensor x, y;
  std::int64_t batch;
  ch::LossArgument loss;
};

std::unique_ptr<ch::Model> sequential(std::vector<ch::Ref<ch::Layer>> layers) {
  return std::make_unique<ch::Sequential>(std::move(layers));
}

ch::LossArgument cross_entropy() { return ch::losses::SparseCategoricalCrossentropy({.from_logits = true}); }

Job dense10(std::mt19937& random) {
  return {sequential({ch::layers::Dense(10)}), floats({64 * 200, 10}, random), floats({64 * 200, 10}, random), 64,
          "mse"};
}

Job mlp(std::mt19937& random) {
  return {sequential({ch::layers::Dense(512, {.activation = "relu"}), ch::layers::Dense(512, {.activation = "relu"}),
                      ch::layers::Dense(10)}),
          floats({128 * 40, 784}, random), labels(128 * 40, 10, random), 128, cross_entropy()};
}

ch::Tensor ids(const ch::Shape& shape, int high, std::mt19937& random) {
  return ch::ops::reshape(labels(shape.num_elements(), high, random), {shape.begin(), shape.end()});
}

Job lstm(std::mt19937& random) {
  return {sequential({ch::layers::Embedding(20000, 128), ch::layers::LSTM(128), ch::layers::Dense(2)}),
          ids({32 * 10, 80}, 20000, random), labels(32 * 10, 2, random), 32, cross_entropy()};
}

Job small_cnn(std::mt19937& random) {
  return {sequential({ch::layers::Conv2D(32, 3, {.activation = "relu"}), ch::layers::MaxPooling2D(2),
                      ch::layers::Conv2D(64, 3, {.activation = "relu"}), ch::layers::MaxPooling2D(2),
                      ch::layers::Flatten(), ch::layers::Dropout(0.5), ch::layers::Dense(10)}),
          floats({128 * 10, 28, 28, 1}, random), labels(128 * 10, 10, random), 128, cross_entropy()};
}

Job transformer(std::mt19937& random) {
  namespace L = ch::layers;
  constexpr int kVocabulary = 1000, kSteps = 64, kSize = 128, kHeads = 4, kBlocks = 2;
  const ch::SymbolicTensor input = ch::Input({kSteps}, {.dtype = ch::int32});
  ch::SymbolicTensor x = L::Embedding(kVocabulary, kSize)(input);
  for (int block = 0; block < kBlocks; ++block) {
    ch::SymbolicTensor h = L::LayerNormalization()(x);
    x = L::Add()({x, L::MultiHeadAttention(kHeads, kSize / kHeads)(h, h, {.use_causal_mask = true})});
    h = L::LayerNormalization()(x);
    x = L::Add()({x, L::Dense(kSize)(L::Dense(4 * kSize, {.activation = "gelu"})(h))});
  }
  const ch::SymbolicTensor output = L::Dense(kVocabulary)(L::LayerNormalization()(x));
  return {std::make_unique<ch::Model>(input, output), ids({16 * 10, kSteps}, kVocabulary, random),
          ids({16 * 10, kSteps}, kVocabulary, random), 16, cross_entropy()};
}

const std::map<std::string, Job (*)(std::mt19937&)> jobs = {
    {"dense10", dense10}, {"lstm", lstm}, {"mlp", mlp}, {"small_cnn", small_cnn}, {"transformer", transformer}};

// When the first execution of steps was done.
struct FirstStep : ch::Callback {
  void on_train_batch_end(std::int64_t, ch::Logs& logs) override {
    if (at_s < 0.0 && std::isfinite(logs.at("loss"))) at_s = process_age();
  }
  ch::BatchHooks batch_hooks() const override { return ch::BatchHooks::Every; }
  double at_s = -1.0;
};

void run(const std::string& name, std::int64_t steps_per_execution, double import_s) {
  ch::set_random_seed(0);
  std::mt19937 random(0);
  Job job = jobs.at(name)(random);
  ch::Model& model = *job.model;
  model.compile(
      {.optimizer = ch::optimizers::Adam(1e-3), .loss = job.loss, .steps_per_execution = steps_per_execution});
  const auto start = Clock::now();
  const ch::Dataset data =
      ch::datasets::from_tensor_slices(job.x, job.y).batch(job.batch, {.drop_remainder = true}).cache().prefetch(4);
  const auto first_step = ch::make<FirstStep>();
  model.fit(data, {.epochs = 1, .verbose = 0, .callbacks = {first_step}});
  const double first_epoch_s = seconds_since(start);
  const std::int64_t steps = job.x.shape()[0] / job.batch;
  double best_s = 1e9, loss = 0.0;
  for (int epoch = 0; epoch < 4; ++epoch) {
    const auto begin = Clock::now();
    const ch::History history = model.fit(data, {.epochs = 1, .verbose = 0});
    best_s = std::min(best_s, seconds_since(begin) / static_cast<double>(steps));
    loss = history["loss"].back();
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf(
      "{\"job\": \"%s\", \"cpu\": \"%s\", \"spe\": %lld, \"ms_per_step\": %.4f, \"samples_per_s\": %.0f, "
      "\"first_epoch_s\": %.3f, \"import_s\": %.3f, \"start_s\": %.3f, \"peak_rss_mib\": %ld, \"loss\": %.6f}\n",
      name.c_str(), std::string(ch::cpu_level()).c_str(), static_cast<long long>(steps_per_execution), best_s * 1e3,
      static_cast<double>(job.batch) / best_s, first_epoch_s, import_s, first_step->at_s, usage.ru_maxrss / 1024, loss);
}

}  // namespace

int main(int argc, char** argv) {
  const double import_s = process_age();
  cohort::bench::CommandLine command_line("Trains one of the jobs the project is measured on and prints one JSON line");
  std::string job, device;
  std::int64_t steps_per_execution = 10;
  int threads = 0;
  std::vector<std::string> names;
  for (const auto& [name, make] : jobs) names.push_back(name);
  command_line.add_required_choice("--job", job, "which one", names);
  command_line.add("--steps-per-execution", steps_per_execution, "steps between two returns to the training loop");
  command_line.add("--device", device, "device to train on");
  command_line.add("--threads", threads, "threads to compute with; 0: one for each core");
  if (const std::optional<int> ended = command_line.parse(argc, argv)) return *ended;
  try {
    if (threads > 0) ch::ThreadPool::instance().set_threads(threads);
    if (!device.empty()) ch::set_default_device(device);
    run(job, steps_per_execution, import_s);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
