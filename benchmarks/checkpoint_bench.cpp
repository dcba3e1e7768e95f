// What checkpoints cost: cohort-checkpoint-bench prints one JSON line for a large model written to the disk, beside a
// plain write of the same bytes, and one for a training that saves in the background, beside the same without.
#include <cohort/cohort.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <stdexcept>

#include "benchmarks/command_line.h"

namespace ch = cohort;

namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

constexpr double kGigabyte = 1e9;

// Writes and syncs a file as plainly as can be.
double plain_write_s(const std::string& path, const char* bytes, std::size_t count) {
  const auto begin = Clock::now();
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) throw std::runtime_error("checkpoint_bench: no file can be made at " + path);
  for (std::size_t done = 0; done < count;) {
    const ssize_t written = ::write(file, bytes + done, std::min(count - done, std::size_t{8} << 20));
    if (written <= 0) throw std::runtime_error("checkpoint_bench: the disk is full");
    done += static_cast<std::size_t>(written);
  }
  if (::fsync(file) != 0) throw std::runtime_error("checkpoint_bench: the disk cannot sync");
  ::close(file);
  return seconds_since(begin);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void write_large_model(const std::string& folder, double gigabytes, int rounds) {
  constexpr std::int64_t kWide = 8192;
  const auto rows = static_cast<std::int64_t>(gigabytes * kGigabyte / (4 * kWide));
  ch::Sequential model({ch::layers::Dense(kWide, {.use_bias = false})});
  model.build(ch::Shape{ch::kUnknown, rows});
  const ch::Tensor bytes = ch::read_now(model.weights()[0]);
  ch::Checkpoint checkpoint({.model = &model});
  std::vector<double> plain, written, read;
  for (int round = 0; round < rounds; ++round) {
    plain.push_back(plain_write_s(folder + "/plain", static_cast<const char*>(bytes.raw()), bytes.bytes()));
    std::filesystem::remove(folder + "/plain");
    auto begin = Clock::now();
    checkpoint.write(folder + "/large-" + std::to_string(round));
    written.push_back(seconds_since(begin));
    begin = Clock::now();
    checkpoint.read(folder + "/large-" + std::to_string(round));
    read.push_back(seconds_since(begin));
    for (const auto& entry : std::filesystem::directory_iterator(folder)) std::filesystem::remove(entry.path());
  }
  const double size = static_cast<double>(bytes.bytes()) / kGigabyte;
  std::printf(
      "{\"checkpoint_gb\": %.3f, \"plain_gb_per_s\": %.3f, \"checkpoint_gb_per_s\": %.3f, \"restore_gb_per_s\": %.3f, "
      "\"ratio\": %.3f}\n",
      size, size / median(plain), size / median(written), size / median(read), median(plain) / median(written));
}

// Counts steps for some seconds, saving now and then when it has a manager.
class TimedRun : public ch::Callback {
 public:
  TimedRun(double seconds, double every, ch::CheckpointManager* manager)
      : seconds_(seconds), every_(every), next_save_(every / 2), manager_(manager) {}
  void on_train_batch_end(std::int64_t, ch::Logs&) override {
    if (++steps == 1) begin_ = Clock::now();  // the first has compiled the step
    elapsed = seconds_since(begin_);
    if (manager_ && elapsed >= next_save_) {
      const auto begin = Clock::now();
      manager_->save({.position = run().position()});
      stopped = std::max(stopped, seconds_since(begin));
      next_save_ += every_;
      ++saves;
    }
    if (elapsed >= seconds_) model().stop_training = true;
  }

  std::int64_t steps = 0, saves = 0;
  double elapsed = 0.0, stopped = 0.0;

 private:
  double seconds_, every_, next_save_;
  ch::CheckpointManager* manager_;
  Clock::time_point begin_;
};

void train_beside(const std::string& folder, double seconds, double every) {
  ch::set_random_seed(1);
  ch::Sequential model({ch::layers::Dense(2560, {.activation = "relu"}),
                        ch::layers::Dense(2432, {.activation = "relu"}), ch::layers::Dense(10)});
  model.compile({.optimizer = ch::optimizers::Adam(1e-3),
                 .loss = ch::losses::SparseCategoricalCrossentropy({.from_logits = true})});
  const ch::Dataset data = ch::datasets::from_tensor_slices(ch::Tensor::full({1024, 784}, 0.5),
                                                            ch::Tensor::full({1024}, 1, ch::DType::Int32))
                               .batch(128)
                               .cache()
                               .repeat();
  ch::Checkpoint checkpoint({.model = &model}, {.enable_async = true});
  ch::CheckpointManager manager(checkpoint, folder + "/run", {.max_to_keep = 2});
  const auto run_once = [&](double run_seconds, double save_every, ch::CheckpointManager* saving) {
    const auto timed = ch::make<TimedRun>(run_seconds, save_every, saving);
    model.fit(data, {.epochs = 1, .verbose = 0, .steps_per_epoch = 1 << 30, .callbacks = {timed}});
    return timed;
  };
  run_once(1.0, 0.5, &manager);  // the first save also makes the memory for the copy
  manager.sync();
  // Without, with, with, without: a machine that grows slower or faster meanwhile favours neither.
  double alone = 0.0, saving = 0.0, stopped = 0.0;
  std::int64_t saves = 0;
  for (const bool with : {false, true, true, false}) {
    const auto timed = run_once(seconds / 4, every, with ? &manager : nullptr);
    (with ? saving : alone) += timed->elapsed / static_cast<double>(timed->steps - 1) / 2;
    stopped = std::max(stopped, timed->stopped);
    saves += timed->saves;
    manager.sync();
  }
  double bytes = 0.0;
  for (const ch::Variables& each : {model.weights(), model.optimizer()->variables()}) {
    for (const ch::Variable& variable : each) {
      bytes +=
          static_cast<double>(variable.shape().num_elements()) * static_cast<double>(ch::size_of(variable.dtype()));
    }
  }
  std::printf(
      "{\"state_mb\": %.1f, \"save_every_s\": %.1f, \"saves\": %lld, \"ms_per_step_alone\": %.3f, "
      "\"ms_per_step_saving\": %.3f, \"longest_save_ms\": %.1f, \"slower_percent\": %.2f}\n",
      bytes / 1e6, every, static_cast<long long>(saves), alone * 1e3, saving * 1e3, stopped * 1e3,
      (saving / alone - 1.0) * 100.0);
}

}  // namespace

int main(int argc, char** argv) {
  cohort::bench::CommandLine command_line("Measures what checkpoints cost and prints one JSON line for each part");
  std::string folder = "checkpoint_bench.tmp";
  double gigabytes = 1.0, seconds = 40.0, every = 10.0;
  int rounds = 3;
  bool only_large = false, only_training = false;
  command_line.add("--folder", folder, "where to write; it is removed at the end");
  command_line.add("--gigabytes", gigabytes, "size of the large model");
  command_line.add("--rounds", rounds, "how often the large model is written", cohort::bench::kPositive);
  command_line.add("--seconds", seconds, "how long to train in all");
  command_line.add("--every", every, "seconds between two checkpoints of the training");
  command_line.add("--only-large", only_large, "leave the training out");
  command_line.add("--only-training", only_training, "leave the large model out");
  if (const std::optional<int> ended = command_line.parse(argc, argv)) return *ended;
  try {
    if (std::filesystem::exists(folder)) throw std::runtime_error("checkpoint_bench: " + folder + " exists");
    std::filesystem::create_directories(folder);
    if (!only_training) write_large_model(folder, gigabytes, rounds);
    if (!only_large) train_beside(folder, seconds, every);
    std::filesystem::remove_all(folder);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
