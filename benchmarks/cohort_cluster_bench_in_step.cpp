#include "benchmarks/cohort_cluster_bench_in_step.h"

#include <cstdio>

#include "benchmarks/bench_process.h"
#include "benchmarks/jobs.h"
#include "cohort/distribute/cluster/local_cluster_spec.h"

namespace cohort::bench {
namespace {

constexpr char kWorkerInStep[] = "--worker-in-step";

// The order in which a worker is told what to do, after its number and the addresses of all.
std::vector<std::string> to_arguments(const ClusterBenchOptions& options) {
  return {options.job,
          options.transport,
          std::to_string(options.threads),
          std::to_string(options.epochs),
          std::to_string(options.steps),
          std::to_string(options.steps_per_execution),
          std::to_string(options.bytes_per_pack)};
}

ClusterBenchOptions from_arguments(const std::vector<std::string>& arguments, int workers) {
  return {.strategy = "mwms",
          .job = arguments[0],
          .transport = arguments[1],
          .workers = workers,
          .ps = 0,
          .threads = std::stoi(arguments[2]),
          .epochs = std::stoll(arguments[3]),
          .steps = std::stoll(arguments[4]),
          .steps_per_execution = std::stoll(arguments[5]),
          .bytes_per_pack = std::stoll(arguments[6])};
}

void run_worker(const ClusterBenchOptions& options, std::int64_t worker, const std::vector<std::string>& addresses) {
  const BenchClock::time_point started = BenchClock::now();
  set_random_seed(0);
  if (options.threads > 0) ThreadPool::instance().set_threads(options.threads);
  const distribute::ClusterSpec spec({{"worker", addresses}});
  const distribute::MultiWorkerMirroredStrategy strategy(
      distribute::SimpleClusterResolver(spec, {.task_type = "worker", .task_id = worker}),
      {.bytes_per_pack = options.bytes_per_pack, .transport = options.transport});
  auto scope = strategy.scope();
  const Job job = make_job(options.job);
  const std::unique_ptr<Model> model = job.make_model();
  model->compile(
      {.optimizer = optimizers::SGD(0.01), .loss = job.loss, .steps_per_execution = options.steps_per_execution});
  std::vector<Ref<Callback>> callbacks;
  if (worker == 0) callbacks.push_back(make<EpochReport>(options, started));
  model->fit(make_cluster_data(options, 0),
             {.epochs = options.epochs, .verbose = 0, .steps_per_epoch = options.steps, .callbacks = callbacks});
}

}  // namespace

std::optional<int> run_in_step_bench_process(const std::vector<std::string>& arguments) {
  if (arguments.size() < 2 || arguments.front() != kWorkerInStep) return std::nullopt;
  const int workers = std::stoi(arguments[1]);
  const std::int64_t worker = std::stoll(arguments[2]);
  const auto addresses = arguments.begin() + 3, rest = addresses + workers;
  try {
    run_worker(from_arguments({rest, arguments.end()}, workers), worker, {addresses, rest});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}

int in_step_bench(const ClusterBenchOptions& options) {
  const distribute::ClusterSpec spec = distribute::local_cluster_spec({{"worker", options.workers}});
  std::vector<std::string> addresses;
  for (int worker = 0; worker < options.workers; ++worker) addresses.push_back(spec.task_address("worker", worker));
  std::vector<std::vector<std::string>> arguments;
  for (int worker = 0; worker < options.workers; ++worker) {
    std::vector<std::string>& own = arguments.emplace_back(
        std::vector{std::string(kWorkerInStep), std::to_string(options.workers), std::to_string(worker)});
    own.insert(own.end(), addresses.begin(), addresses.end());
    for (const std::string& each : to_arguments(options)) own.push_back(each);
  }
  return run_side_by_side(arguments) ? 0 : 1;
}

}  // namespace cohort::bench
