#include "programs/cohort/server_command.h"

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cohort/core/error.h"
#include "cohort/core/text.h"
#include "cohort/distribute/cluster/simple_cluster_resolver.h"
#include "cohort/distribute/cluster/tf_config.h"
#include "cohort/distribute/cluster/tf_config_cluster_resolver.h"
#include "cohort/distribute/server.h"
#include "cohort/distribute/stop_on_signal.h"
#include "programs/cohort/security_arguments.h"

namespace cohort::programs {
namespace {

struct ServerArguments {
  std::optional<std::string> job;
  std::optional<std::int64_t> task;
  std::string cluster;
  std::string address;
  double orphan_timeout = 600.0;
  std::string transport = "auto";
  int max_jobs = 16;
  std::optional<int> threads;
  bool stay = false;
  std::int64_t memory_limit = 0, total_memory_limit = 0;
  std::string job_name;
  std::vector<std::string> data_roots, devices;
  distribute::SecurityOptions security;
  bool join = false;
  std::string advertise;
};

// The cluster with one task more.
distribute::ClusterSpec with_address(const distribute::ClusterSpec& spec, const std::string& job, std::int64_t task,
                                     const std::string& address) {
  std::map<std::string, distribute::ClusterSpec::Tasks> jobs;
  for (const std::string& name : spec.jobs())
    for (const std::int64_t index : spec.task_indices(name)) jobs[name][index] = spec.task_address(name, index);
  jobs[job][task] = address;
  return distribute::ClusterSpec(std::move(jobs));
}

distribute::SimpleClusterResolver resolve(const ServerArguments& arguments) {
  distribute::ClusterSpec spec;
  std::string job = arguments.job.value_or("");
  std::int64_t task = arguments.task.value_or(0);
  if (!arguments.cluster.empty()) {
    spec = distribute::parse_cluster_spec(arguments.cluster, "--cluster");
  } else if (arguments.address.empty() || job.empty()) {
    const distribute::TFConfigClusterResolver environment({.task_type = arguments.job, .task_id = arguments.task});
    spec = environment.cluster_spec();
    job = environment.task_type();
    task = environment.task_id();
  }
  if (!arguments.address.empty() && !job.empty() && !spec.has_task(job, task)) {
    spec = with_address(spec, job, task, arguments.address);
  }
  if (job.empty() || spec.empty()) {
    throw invalid_argument("cohort server", "it must be known which task of which cluster to serve",
                           {{"job", in_quotes(job)}, {"cluster", spec}},
                           "Set TF_CONFIG, or say --job, --task and --cluster or --address.");
  }
  return distribute::SimpleClusterResolver(spec, {.task_type = job, .task_id = task});
}

distribute::ServerOptions server_options(const ServerArguments& arguments) {
  return {.transport = arguments.transport,
          .address = arguments.address,
          .join = arguments.join,
          .advertised_address = arguments.advertise,
          .security = arguments.security,
          .only_job = arguments.job_name,
          .max_jobs = arguments.max_jobs,
          .memory_limit = arguments.memory_limit,
          .total_memory_limit = arguments.total_memory_limit,
          .orphan_timeout = arguments.orphan_timeout,
          .stay = arguments.stay,
          .threads = arguments.threads,
          .data_roots = arguments.data_roots,
          .devices = arguments.devices};
}

// A worker that joins need not be in the cluster, so what TF_CONFIG calls it is not looked up there.
distribute::Server joining_server(const ServerArguments& arguments) {
  const char* variable = std::getenv("TF_CONFIG");
  const distribute::TFConfig told = distribute::parse_tf_config(variable ? variable : "");
  distribute::ServerOptions options = server_options(arguments);
  options.job_name = arguments.job.value_or(told.task_type.empty() ? "worker" : told.task_type);
  options.task_index = arguments.task ? arguments.task : told.task_id;
  if (!options.task_index) options.task_index = -1;
  const distribute::ClusterSpec spec = arguments.cluster.empty()
                                           ? distribute::TFConfigClusterResolver({.task_type = ""}).cluster_spec()
                                           : distribute::parse_cluster_spec(arguments.cluster, "--cluster");
  return distribute::Server(spec, std::move(options));
}

distribute::Server make_server(const ServerArguments& arguments) {
  if (arguments.join) return joining_server(arguments);
  return distribute::Server(resolve(arguments), server_options(arguments));
}

int serve(const ServerArguments& arguments) {
  distribute::Server server = make_server(arguments);
  const distribute::StopOnSignal signals([&server] { server.stop(); });
  // Said when a signal no longer kills.
  std::cout << "serving at " << server.target() << std::endl;
  return server.join();
}

}  // namespace

void add_server_command(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("server", "Serves as one task of a cluster, for whichever program leads it");
  const auto arguments = std::make_shared<ServerArguments>();
  command->add_option("--job", arguments->job, "worker or ps; TF_CONFIG says it otherwise");
  command->add_option("--task", arguments->task, "index of the task in its job; with --join also auto")
      ->transform(CLI::Transformer(std::map<std::string, std::int64_t>{{"auto", -1}}));
  command->add_flag("--join", arguments->join,
                    "a worker that comes and goes: it joins at the first ps, at any address, also one that the cluster "
                    "does not list");
  command
      ->add_option("--advertise", arguments->advertise, "with --join: where others reach it, if not where it listens")
      ->type_name("HOST:PORT");
  command->add_option("--cluster", arguments->cluster, R"(addresses: {"worker": ["host:port"], "ps": ["host:port"]})")
      ->type_name("JSON");
  command
      ->add_option("--orphan-timeout", arguments->orphan_timeout,
                   "seconds after which a job ends here when its chief is gone, and the task with the last one; 0: "
                   "never")
      ->capture_default_str();
  command->add_flag("--stay", arguments->stay, "serve job after job, until a signal comes");
  command->add_option("--max-jobs", arguments->max_jobs, "jobs of different names that it serves at once")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  command->add_option("--address", arguments->address, "where to listen, if others reach it by another")
      ->type_name("HOST:PORT");
  command
      ->add_option("--job-name", arguments->job_name,
                   "serve chiefs of this job only; COHORT_JOB_NAME says it otherwise")
      ->type_name("NAME");
  command
      ->add_option("--memory-limit", arguments->memory_limit, "bytes that a job's variables may take; 0: what is free")
      ->check(CLI::NonNegativeNumber);
  command
      ->add_option("--total-memory-limit", arguments->total_memory_limit,
                   "bytes that the variables of all jobs may take; 0: what is free")
      ->check(CLI::NonNegativeNumber);
  command
      ->add_option("--threads", arguments->threads,
                   "that compute for each request of a job; 0: all; not given: all, or where several workers are at "
                   "this host, the part of one")
      ->check(CLI::Range(0, 4096));
  command
      ->add_option(
          "--data-root", arguments->data_roots,
          "folder that data may be read from, links out of it refused, or address beneath which it may be fetched; "
          "several may be given; / everywhere; none: no files")
      ->type_name("DIR|URL");
  command
      ->add_option("--devices", arguments->devices,
                   "that a worker computes on in step, as CPU:0,CPU:1; none: all GPUs, or the CPU")
      ->type_name("DEVICE")
      ->delimiter(',');
  command->add_option("--transport", arguments->transport, "how it reaches other tasks")
      ->check(CLI::IsMember({"auto", "shm", "tcp", "grpc"}));
  add_security_options(*command, arguments->security);
  command->footer("What it runs are graphs that the program sends: it needs none of the program's code.");
  command->callback([arguments, &exit_code] { exit_code = serve(*arguments); });
}

}  // namespace cohort::programs
