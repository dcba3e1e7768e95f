#include "tests/interop/resolvers.h"

#include <cstdio>
#include <utility>

#include "cohort/core/error.h"
#include "cohort/core/text.h"
#include "cohort/distribute/cluster/hostlist.h"
#include "cohort/distribute/cluster/kubernetes_cluster_resolver.h"
#include "cohort/distribute/cluster/slurm_cluster_resolver.h"

namespace cohort::interop {
namespace {

std::pair<std::string, std::string> parted(const std::string& argument) {
  const std::size_t equals = argument.find('=');
  return {argument.substr(0, equals), argument.substr(equals + 1)};
}

void print_resolver(const distribute::ClusterResolver& resolver) {
  std::printf("cluster %s\n", resolver.cluster_spec().as_text().c_str());
  std::printf("task %s\n", distribute::task_name(resolver.task_type(), resolver.task_id()).c_str());
}

void print_error(const Error& error) { std::printf("error %s %s\n", to_string(error.code()), error.what()); }

}  // namespace

void print_kubernetes(const std::vector<std::string>& arguments) try {
  distribute::KubernetesClusterResolverOptions options;
  options.job_to_label_mapping.clear();
  for (const std::string& argument : arguments) {
    const auto [key, value] = parted(argument);
    if (key == "server") options.api_server = value;
    if (key == "account") options.service_account = value;
    if (key == "pod") options.pod_name = value;
    if (key == "timeout") options.start_timeout = std::stod(value);
    if (key == "port_name") options.port_name = value;
    if (key == "names") options.use_host_names = true;
    if (key.starts_with("tasks:")) options.num_tasks[key.substr(6)] = std::stoll(value);
    if (key.starts_with("job:")) options.job_to_label_mapping[key.substr(4)].push_back(value);
  }
  print_resolver(distribute::KubernetesClusterResolver(options));
} catch (const Error& error) {
  print_error(error);
}

void print_hostlists(const std::vector<std::string>& arguments) {
  for (const std::string& text : arguments)
    std::printf("%s\n", join(distribute::expand_hostlist(text, "hostlist"), {}, " ").c_str());
}

void print_slurm(const std::vector<std::string>& arguments) try {
  distribute::SlurmClusterResolverOptions options;
  for (const std::string& argument : arguments) {
    const auto [job, tasks] = parted(argument);
    options.jobs[job] = std::stoll(tasks);
  }
  print_resolver(distribute::SlurmClusterResolver(options));
} catch (const Error& error) {
  print_error(error);
}

}  // namespace cohort::interop
