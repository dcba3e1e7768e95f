#include "programs/cohort/status_command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "cohort/core/error.h"
#include "cohort/distribute/cluster/tf_config.h"
#include "cohort/distribute/cluster/tf_config_cluster_resolver.h"
#include "cohort/distribute/cluster_status.h"
#include "programs/cohort/security_arguments.h"
#include "programs/cohort/status_table.h"

namespace cohort::programs {
namespace {

struct StatusArguments {
  std::string cluster;
  std::string address;
  double timeout = 2.0;
  distribute::SecurityOptions security;
};

std::vector<distribute::TaskStatus> ask(const StatusArguments& arguments) {
  const distribute::ClusterStatusOptions options{.timeout = arguments.timeout, .security = arguments.security};
  if (!arguments.address.empty()) return distribute::cluster_status_at(arguments.address, options);
  const distribute::ClusterSpec spec = arguments.cluster.empty()
                                           ? distribute::TFConfigClusterResolver().cluster_spec()
                                           : distribute::parse_cluster_spec(arguments.cluster, "--cluster");
  if (spec.empty()) {
    throw invalid_argument("cohort status", "it must be known which cluster to ask", {{"cluster", spec}},
                           "Set TF_CONFIG, or say --cluster, or --address of one of its tasks.");
  }
  return distribute::cluster_status(spec, options);
}

int show_status(const StatusArguments& arguments) {
  const std::vector<distribute::TaskStatus> tasks = ask(arguments);
  std::cout << status_table(tasks) << std::flush;
  return std::all_of(tasks.begin(), tasks.end(), [](const auto& task) { return task.problem.empty(); }) ? 0 : 1;
}

}  // namespace

void add_status_command(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("status", "Asks the tasks of a cluster how they are doing");
  const auto arguments = std::make_shared<StatusArguments>();
  CLI::Option* cluster =
      command
          ->add_option("--cluster", arguments->cluster,
                       R"(addresses: {"worker": ["host:port"], "ps": ["host:port"]}; TF_CONFIG says it otherwise)")
          ->type_name("JSON");
  command->add_option("--address", arguments->address, "of any one task, which knows its cluster")
      ->type_name("HOST:PORT")
      ->excludes(cluster);
  command->add_option("--timeout", arguments->timeout, "seconds that a task may take to answer")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.001, 1e6))
      ->capture_default_str();
  command->footer(
      "STEP TIME is that of a step of late, on a ps that of applying one worker's update. QUEUE counts requests that "
      "are\n"
      "being handled, STALE how many updates by others a worker's updates were behind: the mean, and the most. "
      "RECOVERIES\n"
      "is how often the chief had lost a task and found it again. Where there are several jobs, each has a row. They "
      "do not\n"
      "notice. The exit code is 1 when a task does not answer.");
  add_security_options(*command, arguments->security);
  command->callback([arguments, &exit_code] { exit_code = show_status(*arguments); });
}

}  // namespace cohort::programs
