// The training jobs of the peers, written as a user would: cohort-bench --job dense10 prints one JSON line. Beside them
// what the machine can do: --roofline, --product, --attention. A GPU has jobs of its own. Input pipelines: --data csv.
#include <cohort/cohort.h>
#include <cohort/core/cpu_level.h>
#include <cohort/core/thread_pool.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <optional>
#include <random>
#include <sstream>

#include "benchmarks/command_line.h"
#include "benchmarks/data_jobs.h"
#include "benchmarks/device_rates.h"
#include "benchmarks/gpu_jobs.h"
#include "benchmarks/input_jobs.h"
#include "benchmarks/jobs.h"
#include "benchmarks/kernel_table.h"
#include "benchmarks/roofline.h"

namespace ch = cohort;

namespace {

struct Options {
  std::string job, device, precision = "float32", product, data, folder, input, strategy = "none";
  std::int64_t layers = 100, steps_per_execution = 10;
  std::int64_t batch = 0, steps = 0;  // 0: the job's own
  std::int64_t profile = 0, profile_rows = 10, runs = 3;
  int threads = 0, replicas = 1;
  bool roofline = false, packed = false, transposed = false, attention = false, gpu_jobs = false;
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

// How long the fastest epoch took, of those after the first.
struct BestEpoch : ch::Callback {
  void on_epoch_begin(std::int64_t) override { begin = Clock::now(); }
  void on_epoch_end(std::int64_t epoch, ch::Logs&) override {
    if (epoch > 0) best_s = std::min(best_s, seconds_since(begin));
  }
  ch::BatchHooks batch_hooks() const override { return ch::BatchHooks::None; }
  Clock::time_point begin;
  double best_s = 1e9;
};

// What a job is told by.
struct Figures {
  std::string more = {};  // further keys behind the job's name, each with a comma
  double step_s = 0.0;
  double samples_per_s = 0.0;
  double first_epoch_s = 0.0;
  double start_s = 0.0;
  double loss = 0.0;
  double flops = 0.0;  // of a step; 0: not counted
};

void print(const Options& options, double import_s, const Figures& figures) {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf(
      "{\"job\": \"%s\", %s\"device\": \"%s\", \"cpu\": \"%s\", \"threads\": %d, \"precision\": \"%s\", \"spe\": %lld, "
      "\"ms_per_step\": %.4f, \"samples_per_s\": %.0f, \"first_epoch_s\": %.3f, \"import_s\": %.3f, \"start_s\": %.3f, "
      "\"peak_rss_mib\": %ld, \"loss\": %.6f",
      options.job.c_str(), figures.more.c_str(), ch::default_device().name().c_str(),
      std::string(ch::cpu_level()).c_str(), ch::ThreadPool::instance().threads(), options.precision.c_str(),
      static_cast<long long>(options.steps_per_execution), figures.step_s * 1e3, figures.samples_per_s,
      figures.first_epoch_s, import_s, figures.start_s, usage.ru_maxrss / 1024, figures.loss);
  if (figures.flops > 0.0) std::printf(", \"tflops\": %.4g", figures.flops / figures.step_s * 1e-12);
  if (const std::size_t peak = ch::device_memory(ch::default_device()).peak; peak > 0) {
    std::printf(", \"peak_gib\": %.2f", static_cast<double>(peak) / (1 << 30));
  }
  std::printf("}\n");
}

std::string strategy_keys(const Options& options) {
  if (options.strategy == "none") return {};
  return "\"strategy\": \"" + options.strategy + "\", \"replicas\": " + std::to_string(options.replicas) + ", ";
}

// Some more steps, and which kernels took their time.
void print_kernel_times(ch::Model& model, const ch::Dataset& data, const Options& options) {
  if (options.profile == 0) return;
  ch::Timeline timeline;
  {
    const ch::TimelineScope recording(timeline);
    model.fit(data.repeat(), {.epochs = 1, .verbose = 0, .steps_per_epoch = options.profile});
  }
  ch::bench::DevicePeaks peaks;
  if (ch::default_device().type() == "GPU") peaks = ch::bench::h200_peaks(ch::tensor_float_32_execution_enabled());
  const auto rows = ch::bench::kernel_rows(timeline, options.profile, peaks);
  std::printf("%s", ch::bench::kernel_table(rows, static_cast<std::size_t>(options.profile_rows)).c_str());
}

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
      options.input.empty()
          ? ch::datasets::from_tensor_slices(x, y).batch(job.batch, {.drop_remainder = true}).cache().prefetch(4)
          : ch::bench::image_input(options.input, job.batch);
  const std::int64_t batches = data.cardinality();
  const auto first_step = ch::make<FirstStep>();
  model.fit(data, {.epochs = 1, .verbose = 0, .callbacks = {first_step}});
  Figures figures{.first_epoch_s = seconds_since(start), .start_s = first_step->at_s};
  double best_s = 1e9;
  for (int epoch = 0; epoch < 4; ++epoch) {
    const auto begin = Clock::now();
    const ch::History history = model.fit(data, {.epochs = 1, .verbose = 0});
    best_s = std::min(best_s, seconds_since(begin) / static_cast<double>(batches));
    figures.loss = history["loss"].back();
  }
  if (!options.input.empty()) figures.more = "\"input\": \"" + options.input + "\", ";
  figures.more += strategy_keys(options);
  if (options.job == "thin") figures.more += "\"layers\": " + std::to_string(options.layers) + ", ";
  figures.step_s = best_s;
  figures.samples_per_s = static_cast<double>(job.batch) / best_s;
  print(options, import_s, figures);
  print_kernel_times(model, data, options);
}

std::int64_t trained_weights(const ch::Model& model) {
  std::int64_t count = 0;
  for (const ch::Variable& variable : model.trainable_variables()) count += variable.shape().num_elements();
  return count;
}

// One fit for all epochs that count: what it records for the device is made in the first of them.
void run_gpu_job(const Options& options, double import_s) {
  ch::set_random_seed(0);
  const ch::bench::GpuJob job = ch::bench::make_gpu_job(options.job, options.batch);
  const std::int64_t steps = options.steps > 0 ? options.steps : job.steps;
  const std::unique_ptr<ch::Model> model = job.make_model();
  model->compile({.optimizer = job.optimizer,
                  .loss = ch::losses::SparseCategoricalCrossentropy({.from_logits = true}),
                  .steps_per_execution = options.steps_per_execution});
  const ch::Dataset data = ch::bench::resident_batch(job.make_batch()).repeat(steps);
  const auto start = Clock::now();
  const auto first_step = ch::make<FirstStep>();
  model->fit(data, {.epochs = 1, .verbose = 0, .callbacks = {first_step}});
  const double first_epoch_s = seconds_since(start);
  const auto best = ch::make<BestEpoch>();
  const ch::History history = model->fit(data, {.epochs = 4, .verbose = 0, .callbacks = {best}});
  const double loss = history["loss"].back(), step_s = best->best_s / static_cast<double>(steps);
  if (!std::isfinite(loss)) throw ch::internal_error("cohort-bench", "the loss must be finite", {{"loss", loss}});
  print(options, import_s,
        {.more = strategy_keys(options) + "\"weights\": " + std::to_string(trained_weights(*model)) + ", ",
         .step_s = step_s,
         .samples_per_s = static_cast<double>(job.samples) / step_s,
         .first_epoch_s = first_epoch_s,
         .start_s = first_step->at_s,
         .loss = loss,
         .flops = job.flops});
  print_kernel_times(*model, data, options);
}

bool is_one_of(const std::string& name, const std::vector<std::string>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// The devices of replicas: so many from the default one on.
std::vector<std::string> replica_devices(const Options& options) {
  std::vector<std::string> names;
  const ch::Device& first = ch::default_device();
  for (int i = 0; i < options.replicas; ++i) names.push_back(first.type() + ":" + std::to_string(first.index() + i));
  return names;
}

// In whose scope models are made.
std::optional<ch::distribute::StrategyHandle> chosen_strategy(const Options& options) {
  if (options.strategy == "one-device") return ch::distribute::OneDeviceStrategy(ch::default_device().name());
  if (options.strategy == "mirrored") return ch::distribute::MirroredStrategy(replica_devices(options));
  return std::nullopt;
}

void run_job_of_device(const Options& options, bool on_gpu, double import_s) {
  const std::optional<ch::distribute::StrategyHandle> strategy = chosen_strategy(options);
  std::optional<ch::StrategyScope> scope;
  if (strategy) scope.emplace(strategy->body());
  if (on_gpu && is_one_of(options.job, ch::bench::gpu_job_names())) return run_gpu_job(options, import_s);
  if (!is_one_of(options.job, ch::bench::job_names())) {
    throw ch::invalid_argument("--job", "is one of a GPU's", {{"job", options.job}},
                               "Give --device gpu:0, or --gpu-jobs to train it on any device.");
  }
  if (options.batch > 0 || options.steps > 0) {
    throw ch::invalid_argument("cohort-bench", "--batch and --steps are for the jobs of a GPU", {{"job", options.job}},
                               "Leave them out, or give --gpu-jobs and one of its jobs.");
  }
  if (!options.input.empty() && options.job != "mlp") {
    throw ch::invalid_argument("cohort-bench", "--input is for the job mlp", {{"job", options.job}});
  }
  run_job(options, import_s);
}

void run(const Options& options, double import_s) {
  const bool bfloat16 = options.precision == "bf16";
  if (options.threads > 0) ch::ThreadPool::instance().set_threads(options.threads);
  if (!options.device.empty()) ch::set_default_device(options.device);
  const bool on_gpu = options.gpu_jobs || ch::default_device().type() == "GPU";
  if (options.roofline) {
    const ch::DeviceScope on_cpu = ch::device("/cpu:0");
    ch::bench::print_roofline();
  }
  if (!options.product.empty()) {
    const ch::bench::ProductOptions product{.size = ch::bench::parse_product(options.product),
                                            .bfloat16 = bfloat16,
                                            .packed = options.packed,
                                            .transposed = options.transposed};
    on_gpu ? ch::bench::print_device_product(product) : ch::bench::print_product(product);
  }
  if (options.attention) {
    ch::bench::AttentionSize size;
    if (options.batch > 0) size.batch = options.batch;
    ch::bench::print_attention(size, bfloat16);
  }
  if (bfloat16) ch::mixed_precision::set_global_policy("mixed_bfloat16");
  if (!options.data.empty()) ch::bench::run_data_job(options.data, options.folder, options.runs);
  if (!options.job.empty()) run_job_of_device(options, on_gpu, import_s);
}

// Of the CPU and of GPUs, each once.
std::vector<std::string> all_job_names() {
  std::vector<std::string> names = ch::bench::job_names();
  for (const std::string& name : ch::bench::gpu_job_names()) {
    if (!is_one_of(name, names)) names.push_back(name);
  }
  return names;
}

}  // namespace

int main(int argc, char** argv) {
  const double import_s = process_age();
  cohort::bench::CommandLine command_line(
      "Measures a training job, a matrix product or what the machine can do, each in a JSON line");
  Options options;
  command_line.add_choice("--job", options.job, "which one to train; a GPU has its own of some names", all_job_names());
  command_line.add_choice("--input", options.input,
                          "where the batches of the job mlp come from; none: one array, cached",
                          ch::bench::image_input_names());
  command_line.add_choice("--data", options.data, "which input pipeline to walk, over the files in --folder",
                          ch::bench::data_job_names());
  command_line.add_folder("--folder", options.folder, "where the peers' script has made the files of --data");
  command_line.add("--runs", options.runs, "epochs of --data that are timed; the best counts", {1, 1 << 20});
  command_line.add("--gpu-jobs", options.gpu_jobs, "the jobs and products of a GPU, on whatever device there is");
  command_line.add("--batch", options.batch,
                   "rows of a batch of a GPU's job and of --attention; 0: as the peers have it", {0, 1 << 20});
  command_line.add("--steps", options.steps, "steps of an epoch of a GPU's job; 0: as the peers have it", {0, 1 << 20});
  command_line.add("--layers", options.layers, "of the job thin", {1, 100'000});
  command_line.add("--steps-per-execution", options.steps_per_execution,
                   "steps between two returns to the training loop");
  command_line.add("--device", options.device, "device to train on");
  command_line.add_choice("--strategy", options.strategy,
                          "what to train a job under: its figures are of the same batch",
                          {"none", "one-device", "mirrored"});
  command_line.add("--replicas", options.replicas, "of --strategy mirrored: on the device and those after it", {1, 64});
  command_line.add("--threads", options.threads, "threads to compute with; 0: one for each core");
  command_line.add_choice("--precision", options.precision, "float32, or bf16: the policy mixed_bfloat16",
                          {"float32", "fp32", "bf16"});
  command_line.add("--roofline", options.roofline,
                   "what loops in registers reach, on one thread and on all: the machine's own rate");
  command_line.add("--product", options.product, "M,K,N: the rate of one matrix product, and its share of the loop's");
  command_line.add("--packed", options.packed, "the right operand of --product is packed before time is taken");
  command_line.add("--transposed", options.transposed,
                   "the left operand of --product lies transposed, as for gradients of weights");
  command_line.add("--attention", options.attention,
                   "the rate of causal attention there and back, of the shape that gpt2 has");
  command_line.add("--profile", options.profile,
                   "steps to train after a job with the time of each kernel taken, for a table of where it goes",
                   {0, 1 << 20});
  command_line.add("--profile-rows", options.profile_rows, "lines of that table", {1, 1 << 20});
  if (const std::optional<int> ended = command_line.parse(argc, argv)) return *ended;
  if (options.precision == "fp32") options.precision = "float32";
  if (options.job.empty() && options.product.empty() && options.data.empty() && !options.roofline &&
      !options.attention) {
    std::fprintf(
        stderr,
        "cohort-bench: one of --job, --data, --product, --attention and --roofline is required. Run with --help.\n");
    return 2;
  }
  if (!options.data.empty() && options.folder.empty()) {
    std::fprintf(stderr, "cohort-bench: --data needs --folder. Run with --help.\n");
    return 2;
  }
  if (options.packed && options.transposed) {
    std::fprintf(stderr, "cohort-bench: --packed is for a left operand that is not --transposed. Run with --help.\n");
    return 2;
  }
  try {
    run(options, import_s);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
