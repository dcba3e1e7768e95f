#include "programs/cohort/launch_command.h"

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cohort/core/log.h"
#include "cohort/distribute/cluster/job_name.h"
#include "cohort/distribute/cluster/local_cluster_spec.h"
#include "cohort/distribute/cluster/roles.h"
#include "cohort/distribute/cluster/tf_config.h"
#include "programs/cohort/launcher.h"

namespace cohort::programs {
namespace {

struct LaunchOptions {
  std::int64_t workers = 1;
  std::int64_t ps = 0;
  bool evaluator = false;
  bool restart_workers = false;
  int restart_chief = 0;
  std::string job_name;
  std::vector<std::string> program;
};

// Every task at a loopback port that is free now.
distribute::ClusterSpec local_cluster(const LaunchOptions& options) {
  std::vector<std::pair<std::string, int>> jobs = {{"worker", static_cast<int>(options.workers)}};
  // Without parameter servers the first worker leads, as is usual where all workers train in step.
  if (options.ps > 0) jobs.insert(jobs.end(), {{"ps", static_cast<int>(options.ps)}, {"chief", 1}});
  if (options.evaluator) jobs.emplace_back("evaluator", 1);
  return distribute::local_cluster_spec(jobs);
}

int launch(const LaunchOptions& options) {
  const distribute::ClusterSpec spec = local_cluster(options);
  log::debug("cohort launch: see `cohort status --address " + spec.task_address("worker", 0) + "`");
  std::vector<LaunchedTask> tasks;
  // The tasks that others wait for are started first.
  for (const char* job : {"ps", "worker", "evaluator", "chief"}) {
    if (!spec.has_job(job)) continue;
    for (const std::int64_t index : spec.task_indices(job)) {
      const bool is_leader = job != distribute::kEvaluator && distribute::is_chief(spec, job, index);
      std::vector<std::pair<std::string, std::string>> environment = {
          {"TF_CONFIG", distribute::to_tf_config(spec, job, index)}};
      if (!options.job_name.empty()) environment.emplace_back(distribute::kJobNameVariable, options.job_name);
      tasks.push_back({.name = distribute::task_name(job, index),
                       .environment = std::move(environment),
                       .leader = is_leader,
                       .restart = !is_leader && (options.restart_chief > 0 ||
                                                 (options.restart_workers && job == distribute::kWorker)),
                       .restarts = is_leader ? options.restart_chief : 0,
                       // The last checkpoint is the one that matters most.
                       .stop_time = std::chrono::seconds(job == distribute::kEvaluator ? 600 : 5)});
    }
  }
  return Launcher(options.program, std::move(tasks)).run();
}

}  // namespace

void add_launch_command(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "launch", "Starts a program as every task of a cluster on this machine, each with its TF_CONFIG");
  const auto options = std::make_shared<LaunchOptions>();
  command->add_option("--workers", options->workers, "how many workers")->check(CLI::Range(1, 1000))->required();
  command->add_option("--ps", options->ps, "how many parameter servers; with any there is a chief too")
      ->check(CLI::Range(0, 1000));
  command->add_flag("--evaluator", options->evaluator, "one evaluator beside them");
  command->add_flag("--restart-workers", options->restart_workers, "start a worker that failed again");
  command
      ->add_option("--restart-chief", options->restart_chief,
                   "start a chief that failed again, up to so many times, and all tasks that ended with it")
      ->check(CLI::Range(0, 1'000'000));
  command->add_option("--job-name", options->job_name, "what errors call the job; its tasks serve no other")
      ->type_name("NAME");
  command->add_option("program", options->program, "the program and its arguments, after --")->required();
  command->footer(
      "Each line the tasks print has the task in front. Signals go to the chief, the other tasks end with it; a "
      "second\n"
      "signal goes to all. The exit code is the chief's, 128 + the signal's number if one ended it.");
  command->callback([options, &exit_code] { exit_code = launch(*options); });
}

}  // namespace cohort::programs
