// The training jobs of the peers, written as a user would: cohort-bench --job dense10 prints one JSON line. Beside them
// what the machine can do: --roofline, --product.
#include <cohort/cohort.h>
#include <cohort/core/cpu_level.h>
#include <cohort/core/thread_pool.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <optional>
#include <random>
#include <sstream>

#include "benchmarks/command_line.h"
#include "benchmarks/jobs.h"
#include "benchmarks/roofline.h"

namespace ch = cohort;

namespace {

struct Options {
  std::string job, device, precision = "float32", product;
  std::int64_t layers = 100, steps_per_execution = 10;
  int threads = 0;
  bool roofline = false, packed = false;
};

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

// When the first execution of steps was done.
struct FirstStep : ch::Callback {
  void on_train_batch_end(std::int64_t, ch::Logs& logs) override {
    if (at_s < 0.0 && std::isfinite(logs.at("loss"))) at_s = process_age();
  }
  ch::BatchHooks batch_hooks() const override { return ch::BatchHooks::Every; }
  double at_s = -1.0;
};

void run_job(const Options& options, double import_s) {
  ch::set_random_seed(0);
  std::mt19937 random(0);
  const ch::bench::Job job = ch::bench::make_job(options.job, options.layers);
  const std::unique_ptr<ch::Model> made = job.make_model();
  ch::Model& model = *made;
  const auto [x, y] = job.make_data(job.batch * job.batches, random);
  model.compile(
      {.optimizer = ch::optimizers::Adam(1e-3), .loss = job.loss, .steps_per_execution = options.steps_per_execution});
  const auto start = Clock::now();
  const ch::Dataset data =
      ch::datasets::from_tensor_slices(x, y).batch(job.batch, {.drop_remainder = true}).cache().prefetch(4);
  const auto first_step = ch::make<FirstStep>();
  model.fit(data, {.epochs = 1, .verbose = 0, .callbacks = {first_step}});
  const double first_epoch_s = seconds_since(start);
  double best_s = 1e9, loss = 0.0;
  for (int epoch = 0; epoch < 4; ++epoch) {
    const auto begin = Clock::now();
    const ch::History history = model.fit(data, {.epochs = 1, .verbose = 0});
    best_s = std::min(best_s, seconds_since(begin) / static_cast<double>(job.batches));
    loss = history["loss"].back();
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const std::string layers = options.job == "thin" ? "\"layers\": " + std::to_string(options.layers) + ", " : "";
  std::printf(
      "{\"job\": \"%s\", %s\"cpu\": \"%s\", \"threads\": %d, \"precision\": \"%s\", \"spe\": %lld, \"ms_per_step\": "
      "%.4f, "
      "\"samples_per_s\": %.0f, \"first_epoch_s\": %.3f, \"import_s\": %.3f, \"start_s\": %.3f, \"peak_rss_mib\": %ld, "
      "\"loss\": %.6f}\n",
      options.job.c_str(), layers.c_str(), std::string(ch::cpu_level()).c_str(), ch::ThreadPool::instance().threads(),
      options.precision.c_str(), static_cast<long long>(options.steps_per_execution), best_s * 1e3,
      static_cast<double>(job.batch) / best_s, first_epoch_s, import_s, first_step->at_s, usage.ru_maxrss / 1024, loss);
}

void run(const Options& options, double import_s) {
  const bool bfloat16 = options.precision == "bf16";
  if (options.threads > 0) ch::ThreadPool::instance().set_threads(options.threads);
  if (!options.device.empty()) ch::set_default_device(options.device);
  if (options.roofline) ch::bench::print_roofline();
  if (!options.product.empty()) {
    ch::bench::print_product(
        {.size = ch::bench::parse_product(options.product), .bfloat16 = bfloat16, .packed = options.packed});
  }
  if (bfloat16) ch::mixed_precision::set_global_policy("mixed_bfloat16");
  if (!options.job.empty()) run_job(options, import_s);
}

}  // namespace

int main(int argc, char** argv) {
  const double import_s = process_age();
  cohort::bench::CommandLine command_line(
      "Measures a training job, a matrix product or what the machine can do, each in a JSON line");
  Options options;
  command_line.add_choice("--job", options.job, "which one to train", cohort::bench::job_names());
  command_line.add("--layers", options.layers, "of the job thin", {1, 100'000});
  command_line.add("--steps-per-execution", options.steps_per_execution,
                   "steps between two returns to the training loop");
  command_line.add("--device", options.device, "device to train on");
  command_line.add("--threads", options.threads, "threads to compute with; 0: one for each core");
  command_line.add_choice("--precision", options.precision, "float32, or bf16: the policy mixed_bfloat16",
                          {"float32", "fp32", "bf16"});
  command_line.add("--roofline", options.roofline,
                   "what loops in registers reach, on one thread and on all: the machine's own rate");
  command_line.add("--product", options.product, "M,K,N: the rate of one matrix product, and its share of the loop's");
  command_line.add("--packed", options.packed, "the right operand of --product is packed before time is taken");
  if (const std::optional<int> ended = command_line.parse(argc, argv)) return *ended;
  if (options.precision == "fp32") options.precision = "float32";
  if (options.job.empty() && options.product.empty() && !options.roofline) {
    std::fprintf(stderr, "cohort-bench: one of --job, --product and --roofline is required. Run with --help.\n");
    return 2;
  }
  try {
    run(options, import_s);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
