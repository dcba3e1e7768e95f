#include "cohort/distribute/cluster/slurm_cluster_resolver.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <utility>
#include <vector>

#include "cohort/core/error.h"
#include "cohort/core/text.h"
#include "cohort/distribute/cluster/address.h"
#include "cohort/distribute/cluster/environment.h"
#include "cohort/distribute/cluster/hostlist.h"

namespace cohort::distribute {
namespace {

constexpr const char* kSlurm = "SlurmClusterResolver";
constexpr const char* kVisibleDevices = "CUDA_VISIBLE_DEVICES";
constexpr int kMostPorts = 65535;

std::optional<std::int64_t> number_of(const char* variable) {
  const std::string text = environment_variable(variable);
  if (text.empty()) return std::nullopt;
  std::int64_t number = -1;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || end != text.data() + text.size() || number < 0)
    throw invalid_argument(kSlurm, "a whole number from 0 is expected", {{variable, text}});
  return number;
}

std::string required(const char* variable) {
  std::string text = environment_variable(variable);
  if (text.empty()) {
    throw failed_precondition(kSlurm, "a variable that Slurm sets for each task is expected", {{variable, "(not set)"}},
                              "Start the program with srun, as examples/deploy/slurm does.");
  }
  return text;
}

// A node's part in the step.
struct SlurmNode {
  std::string host;
  std::int64_t tasks = 0;
};

// Where a rank runs.
struct SlurmPlace {
  std::size_t node = 0;
  std::int64_t local = 0;
};

std::vector<SlurmNode> read_nodes(const std::optional<std::int64_t>& tasks_per_node) {
  const bool step = !environment_variable("SLURM_STEP_NODELIST").empty();
  const char* const list = step ? "SLURM_STEP_NODELIST" : "SLURM_JOB_NODELIST";
  const char* const tasks = step ? "SLURM_STEP_TASKS_PER_NODE" : "SLURM_TASKS_PER_NODE";
  const std::vector<std::string> hosts = expand_hostlist(required(list), titled(kSlurm, list));
  const std::vector<std::int64_t> counts = tasks_per_node ? std::vector<std::int64_t>(hosts.size(), *tasks_per_node)
                                                          : expand_task_counts(required(tasks), titled(kSlurm, tasks));
  if (hosts.size() != counts.size()) {
    throw failed_precondition(kSlurm, "the number of tasks of each node is expected",
                              {{"hosts", hosts.size()}, {"numbers", counts.size()}});
  }
  std::vector<SlurmNode> nodes;
  for (std::size_t i = 0; i < hosts.size(); ++i) nodes.push_back({hosts[i], counts[i]});
  return nodes;
}

// How many ranks in a row go to one node before the next has its turn; 0: as many as it takes.
std::int64_t read_plane() {
  const std::string text = environment_variable("SLURM_DISTRIBUTION");
  const std::string_view kind = std::string_view(text).substr(0, text.find_first_of(":,"));
  if (kind.empty() || kind == "block" || kind == "*") return 0;
  if (kind == "cyclic") return 1;
  if (kind.starts_with("plane")) {
    const auto size = number_of("SLURM_DIST_PLANESIZE");
    if (size && *size > 0) return *size;
  }
  throw unimplemented(kSlurm, "tasks that are distributed by block, cyclic or plane are expected",
                      {{"SLURM_DISTRIBUTION", text}}, "Start srun with --distribution=block.");
}

std::vector<SlurmPlace> place_ranks(const std::vector<SlurmNode>& nodes, std::int64_t plane) {
  std::vector<SlurmPlace> places;
  std::vector<std::int64_t> taken(nodes.size(), 0);
  for (bool more = true; more;) {
    more = false;
    for (std::size_t node = 0; node < nodes.size(); ++node) {
      const std::int64_t end = plane == 0 ? nodes[node].tasks : std::min(nodes[node].tasks, taken[node] + plane);
      for (; taken[node] < end; ++taken[node]) places.push_back({node, taken[node]});
      more = more || taken[node] < nodes[node].tasks;
    }
  }
  return places;
}

// Slurm says of this task where it is: what was worked out for the others holds only if it agrees.
void check_place(const SlurmPlace& place, std::int64_t rank) {
  const auto node = number_of("SLURM_NODEID"), local = number_of("SLURM_LOCALID");
  if ((!node || *node == static_cast<std::int64_t>(place.node)) && (!local || *local == place.local)) return;
  throw failed_precondition(kSlurm, "tasks are expected node by node, or as SLURM_DISTRIBUTION says",
                            {{"SLURM_PROCID", rank},
                             {"SLURM_NODEID", environment_variable("SLURM_NODEID")},
                             {"SLURM_LOCALID", environment_variable("SLURM_LOCALID")},
                             {"SLURM_DISTRIBUTION", environment_variable("SLURM_DISTRIBUTION")}},
                            "Start srun with --distribution=block.");
}

// The GPUs that one task of a node has to itself; 0: none that are its own.
std::int64_t share_gpus(const SlurmClusterResolverOptions& options, std::int64_t gpus, std::int64_t most_tasks) {
  if (options.gpus_per_task && *options.gpus_per_task * most_tasks > gpus) {
    throw invalid_argument(
        kSlurm, "a node must have GPUs for all its tasks",
        {{"gpus_per_node", gpus}, {"gpus_per_task", *options.gpus_per_task}, {"tasks on a node", most_tasks}},
        "Ask Slurm for more GPUs, or run fewer tasks on a node.");
  }
  return options.gpus_per_task.value_or(most_tasks > 0 ? gpus / most_tasks : 0);
}

void show_gpus(std::int64_t gpus, std::int64_t first, std::int64_t count) {
  std::vector<std::string> visible;
  std::string given = environment_variable(kVisibleDevices);
  for (std::size_t at = 0; !given.empty() && at != std::string::npos;) {
    const std::size_t comma = given.find(',', at);
    visible.push_back(given.substr(at, comma - at));
    at = comma == std::string::npos ? comma : comma + 1;
  }
  // Fewer than the node has: Slurm has bound them to this task.
  if (!visible.empty() && static_cast<std::int64_t>(visible.size()) < gpus) return;
  for (std::int64_t i = static_cast<std::int64_t>(visible.size()); i < gpus; ++i) visible.push_back(std::to_string(i));
  const std::vector<std::string> own(visible.begin() + first, visible.begin() + first + count);
  ::setenv(kVisibleDevices, join(own, {}, ",").c_str(), 1);
}

void check_jobs(const std::map<std::string, std::int64_t>& jobs, std::int64_t total) {
  std::int64_t wanted = 0;
  bool possible = true;
  for (const auto& [job, tasks] : jobs) {
    possible = possible && tasks >= 0 && tasks <= total;
    wanted += possible ? tasks : 0;
  }
  if (possible && wanted == total) return;
  const auto entry = [](const auto& job) { return job.first + ": " + std::to_string(job.second); };
  throw invalid_argument(kSlurm, "the jobs must have as many tasks as Slurm has started",
                         {{"jobs", "{" + join(jobs, entry) + "}"}, {"tasks of Slurm", total}},
                         "Change the jobs, or srun's --ntasks.");
}

void check_options(const SlurmClusterResolverOptions& options) {
  if (options.port_base < 1 || options.port_base > kMostPorts)
    throw invalid_argument(kSlurm, "a port_base from 1 to 65535 is expected", {{"port_base", options.port_base}});
  for (const auto& [name, value] :
       {std::pair{"gpus_per_node", options.gpus_per_node}, std::pair{"gpus_per_task", options.gpus_per_task},
        std::pair{"tasks_per_node", options.tasks_per_node}}) {
    if (value && (*value < 0 || *value > kMostPorts))
      throw invalid_argument(kSlurm, "a number from 0 to 65535 is expected", {{name, *value}});
  }
}

}  // namespace

SlurmClusterResolver::SlurmClusterResolver(SlurmClusterResolverOptions options) : rpc_layer_(options.rpc_layer) {
  check_options(options);
  required("SLURM_PROCID");
  const std::int64_t rank = *number_of("SLURM_PROCID");
  const std::vector<SlurmNode> nodes = read_nodes(options.tasks_per_node);
  const std::vector<SlurmPlace> places = place_ranks(nodes, read_plane());
  const auto total = static_cast<std::int64_t>(places.size());

  if (options.jobs.empty()) options.jobs = {{"worker", total}};
  check_jobs(options.jobs, total);
  if (rank >= total)
    throw failed_precondition(kSlurm, "a rank below the number of tasks is expected",
                              {{"SLURM_PROCID", rank}, {"tasks of Slurm", total}});
  const SlurmPlace own = places[static_cast<std::size_t>(rank)];
  check_place(own, rank);

  std::map<std::string, ClusterSpec::Tasks> jobs;
  std::int64_t next = 0;
  for (const auto& [job, tasks] : options.jobs) {
    ClusterSpec::Tasks& numbered = jobs[job];
    for (std::int64_t index = 0; index < tasks; ++index, ++next) {
      const SlurmPlace& place = places[static_cast<std::size_t>(next)];
      const std::int64_t port = options.port_base + place.local;
      if (port > kMostPorts)
        throw invalid_argument(kSlurm, "a port for each task of a node is expected",
                               {{"port_base", options.port_base}, {"task on its node", place.local}},
                               "Choose a lower port_base.");
      numbered[index] = Address{nodes[place.node].host, static_cast<int>(port)}.to_string();
      if (next == rank) {
        task_type_ = job;
        task_id_ = index;
      }
    }
  }
  spec_ = ClusterSpec(std::move(jobs));

  const std::int64_t gpus = options.gpus_per_node.value_or(number_of("SLURM_GPUS_ON_NODE").value_or(0));
  const auto fewer = [](const SlurmNode& a, const SlurmNode& b) { return a.tasks < b.tasks; };
  const std::int64_t most_tasks = std::max_element(nodes.begin(), nodes.end(), fewer)->tasks;
  const std::int64_t own_gpus = share_gpus(options, gpus, most_tasks);
  if (options.auto_set_gpu && own_gpus > 0) show_gpus(gpus, own.local * own_gpus, own_gpus);
}

}  // namespace cohort::distribute
