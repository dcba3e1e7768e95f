#include "programs/cohort/server_command.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <optional>
#include <string>

#include "cohort/distribute/cluster/simple_cluster_resolver.h"
#include "cohort/distribute/cluster/tf_config.h"
#include "cohort/distribute/cluster/tf_config_cluster_resolver.h"
#include "cohort/distribute/server.h"

namespace cohort::programs {
namespace {

struct ServerArguments {
  std::optional<std::string> job;
  std::optional<std::int64_t> task;
  std::string cluster;
  std::string transport = "auto";
};

int serve(const ServerArguments& arguments) {
  distribute::ServerOptions options{.transport = arguments.transport};
  std::unique_ptr<distribute::Server> server;
  if (arguments.cluster.empty()) {
    server = std::make_unique<distribute::Server>(
        distribute::TFConfigClusterResolver({.task_type = arguments.job, .task_id = arguments.task}), options);
  } else {
    options.job_name = arguments.job.value_or("");
    options.task_index = arguments.task;
    server = std::make_unique<distribute::Server>(distribute::parse_cluster_spec(arguments.cluster, "cohort server"),
                                                  options);
  }
  std::cout << "serving at " << server->target() << std::endl;
  return server->join();
}

}  // namespace

void add_server_command(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("server", "Serves as one task of a cluster, for whichever program leads it");
  const auto arguments = std::make_shared<ServerArguments>();
  command->add_option("--job", arguments->job, "worker or ps; TF_CONFIG says it otherwise");
  command->add_option("--task", arguments->task, "index of the task in its job");
  command->add_option("--cluster", arguments->cluster, R"(addresses: {"worker": ["host:port"], "ps": ["host:port"]})")
      ->type_name("JSON");
  command->add_option("--transport", arguments->transport, "how it reaches other tasks")
      ->check(CLI::IsMember({"auto", "grpc"}));
  command->footer("What it runs are graphs that the program sends: it needs none of the program's code.");
  command->callback([arguments, &exit_code] { exit_code = serve(*arguments); });
}

}  // namespace cohort::programs
