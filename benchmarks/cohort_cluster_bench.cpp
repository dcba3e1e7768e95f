// The cluster jobs of the peers through the public API: cohort-cluster-bench --workers 3 --ps 2 --job dense10 prints
// one JSON line per epoch.
#include <cohort/cohort.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <optional>

#include "benchmarks/cohort_cluster_bench_allreduce.h"
#include "benchmarks/cohort_cluster_bench_in_step.h"
#include "benchmarks/cohort_cluster_bench_job.h"
#include "benchmarks/command_line.h"
#include "benchmarks/jobs.h"
#include "benchmarks/transport_bench.h"

namespace ch = cohort;
namespace dist = cohort::distribute;

namespace {

using Options = ch::bench::ClusterBenchOptions;
using Clock = ch::bench::BenchClock;
using ch::bench::seconds_since;

// The tasks as processes of their own, which are `cohort server`.
class ServerProcesses {
 public:
  ServerProcesses(const dist::ClusterSpec& spec, const Options& options) {
    const std::string program = std::filesystem::canonical("/proc/self/exe").parent_path() / "cohort";
    for (const char* job : {"ps", "worker"}) {
      for (std::int64_t index : spec.task_indices(job)) {
        std::vector<std::string> arguments{
            program,        "server",      "--job",          job, "--task", std::to_string(index), "--cluster",
            spec.as_text(), "--transport", options.transport};
        if (options.threads > 0) arguments.insert(arguments.end(), {"--threads", std::to_string(options.threads)});
        const pid_t child = fork();
        if (child == 0) {
          prctl(PR_SET_PDEATHSIG, SIGKILL);
          if (const int nowhere = open("/dev/null", O_WRONLY); nowhere >= 0) dup2(nowhere, STDOUT_FILENO);
          std::vector<char*> argv;
          for (std::string& argument : arguments) argv.push_back(argument.data());
          argv.push_back(nullptr);
          execv(program.c_str(), argv.data());
          _exit(127);
        }
        children_.push_back(child);
      }
    }
  }
  ~ServerProcesses() {
    for (pid_t child : children_) kill(child, SIGKILL);
    for (pid_t child : children_) waitpid(child, nullptr, 0);
  }

 private:
  std::vector<pid_t> children_;
};

// The tasks, in this process or as processes of their own.
class Tasks {
 public:
  explicit Tasks(const Options& options) {
    const std::vector<std::pair<std::string, int>> jobs{{"ps", options.ps}, {"worker", options.workers}};
    if (options.in_process) {
      cluster_ = std::make_unique<dist::LocalCluster>(
          jobs, dist::LocalClusterOptions{.transport = options.transport, .threads = options.threads});
      spec_ = cluster_->spec();
    } else {
      spec_ = dist::local_cluster_spec(jobs);
      processes_ = std::make_unique<ServerProcesses>(spec_, options);
    }
  }
  const dist::ClusterSpec& spec() const { return spec_; }

 private:
  std::unique_ptr<dist::LocalCluster> cluster_;
  std::unique_ptr<ServerProcesses> processes_;
  dist::ClusterSpec spec_;
};

// How many closures that do next to nothing run in a second: without a ps, and with one push to each.
void run_closures(const Options& options) {
  const Tasks tasks(options);
  dist::ParameterServerStrategy strategy(dist::SimpleClusterResolver(tasks.spec()), {.transport = options.transport});
  auto scope = strategy.scope();
  dist::ClusterCoordinator coordinator(strategy);
  std::vector<ch::Variable> sums;
  for (int i = 0; i < options.ps; ++i) sums.emplace_back(ch::Tensor::scalar(0.0));
  const ch::Function alone = ch::function([](const ch::Tensor& x) { return x + 1.0; });
  const ch::Function pushing = ch::function([&](const ch::Tensor& x) {
    for (ch::Variable& sum : sums) sum.assign_add(x);
  });
  const ch::Tensor one = ch::Tensor::scalar(1.0);
  const auto per_second = [&](const ch::Function& function, std::int64_t closures) {
    for (int i = 0; i < 4 * options.workers; ++i) coordinator.schedule(function, {one});
    coordinator.join();
    const auto start = Clock::now();
    for (std::int64_t i = 0; i < closures; ++i) coordinator.schedule(function, {one});
    coordinator.join();
    return static_cast<double>(closures) / seconds_since(start);
  };
  for (std::int64_t round = 0; round < options.epochs; ++round) {
    const double without_ps = per_second(alone, options.closures), with_ps = per_second(pushing, options.closures / 4);
    std::printf(
        "{\"strategy\": \"ps\", \"job\": \"closures\", \"in_process\": %s, \"transport\": \"%s\", \"workers\": %d, "
        "\"ps\": %d, \"closures_per_s\": %.0f, \"pushing_closures_per_s\": %.0f}\n",
        options.in_process ? "true" : "false", options.transport.c_str(), options.workers, options.ps, without_ps,
        with_ps);
    std::fflush(stdout);
  }
}

void run(const Options& options) {
  const auto started = Clock::now();
  ch::set_random_seed(0);
  const Tasks tasks(options);
  {
    dist::ParameterServerStrategy strategy(
        dist::SimpleClusterResolver(tasks.spec()),
        {.variable_partitioner = dist::MinSizePartitioner({.min_shard_bytes = 256 << 10, .max_shards = options.ps}),
         .transport = options.transport});
    auto scope = strategy.scope();
    const ch::bench::Job job = ch::bench::make_job(options.job);
    const std::unique_ptr<ch::Model> model = job.make_model();
    model->compile(
        {.optimizer = ch::optimizers::SGD(0.01), .loss = job.loss, .steps_per_execution = options.steps_per_execution});
    model->fit(ch::DatasetCreator([&](const ch::InputContext& context) {
                 return ch::bench::make_cluster_data(options, context.input_pipeline_id);
               }),
               {.epochs = options.epochs,
                .verbose = 0,
                .steps_per_epoch = options.steps,
                .callbacks = {ch::make<ch::bench::EpochReport>(options, started)}});
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (const std::optional<int> ended = cohort::bench::run_transport_bench_process({argv + 1, argv + argc}))
    return *ended;
  if (const std::optional<int> ended = cohort::bench::run_allreduce_bench_process({argv + 1, argv + argc}))
    return *ended;
  if (const std::optional<int> ended = cohort::bench::run_in_step_bench_process({argv + 1, argv + argc})) return *ended;
  cohort::bench::CommandLine command_line(
      "Trains one of the jobs the project is measured on, on a cluster of this machine");
  Options options;
  command_line.add_choice("--strategy", options.strategy, "ps, or mwms: workers in step", {"ps", "mwms"});
  command_line.add_choice("--job", options.job, "which one to train", ch::bench::job_names());
  command_line.add("--workers", options.workers, "number of workers", {1, 256});
  command_line.add("--ps", options.ps, "number of parameter servers", {1, 256});
  command_line.add("--in-process", options.in_process, "all tasks in this process");
  command_line.add("--threads", options.threads,
                   "threads for each task; 0: those of one process share all, processes of one host its cores",
                   {0, 4096});
  command_line.add_choice("--transport", options.transport, "auto, shm, tcp or grpc", {"auto", "grpc", "shm", "tcp"});
  command_line.add("--epochs", options.epochs, "epochs");
  command_line.add("--steps", options.steps, "steps of an epoch");
  command_line.add("--spe,--steps-per-execution", options.steps_per_execution, "steps of a closure");
  command_line.add("--closures", options.closures, std::int64_t{20'000},
                   "measure so many closures that do next to nothing, not a job");
  command_line.add("--bytes-per-pack", options.bytes_per_pack, "of gradients that cross together, of mwms; 0: default");
  bool transports = false;
  command_line.add("--transports", transports, "measure the transports alone, beside a plain gRPC stream");
  bool secured = false;
  command_line.add("--secured", secured, "of --transports: gRPC in plain text, by a secret and by certificates");
  bool allreduce = false;
  command_line.add("--allreduce", allreduce, "measure the all-reduce between workers alone, not a job");
  std::int64_t bytes = 0;
  command_line.add("--bytes", bytes, "the one size to measure by --allreduce; 0: those of the peers", {0, 4e9});
  int rounds = 15;
  command_line.add("--rounds", rounds, "of --transports, in which both take turns", {1, 1000});
  std::string only;
  command_line.add("--only", only, "part of the names of --transports' loads to measure, e.g. push_1MiB");
  if (const std::optional<int> ended = command_line.parse(argc, argv)) return *ended;
  const bool in_step = options.strategy == "mwms";
  try {
    if (allreduce) return cohort::bench::allreduce_bench(options.workers, options.transport, bytes);
    if (in_step) return cohort::bench::in_step_bench(options);
    if (transports) {
      const std::vector<std::string> ways =
          secured ? std::vector<std::string>{"grpc", "grpc, certificates", "tcp", "tcp, secret", "tcp, certificates"}
                  : std::vector<std::string>{"in_process", "shm", "tcp", "grpc"};
      std::puts(cohort::bench::transport_bench(ways, rounds, only).c_str());
      return 0;
    }
    options.closures > 0 ? run_closures(options) : run(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
