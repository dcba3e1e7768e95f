#include "cohort/distribute/cluster/kubernetes_cluster_resolver.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "cohort/core/error.h"
#include "cohort/core/log.h"
#include "cohort/core/text.h"
#include "cohort/distribute/cluster/address.h"
#include "cohort/distribute/cluster/environment.h"
#include "cohort/distribute/cluster/kubernetes_api.h"
#include "cohort/distribute/cluster/kubernetes_pods.h"
#include "cohort/distribute/cluster/roles.h"

namespace cohort::distribute {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr const char* kKubernetes = "KubernetesClusterResolver";
constexpr milliseconds kBetweenQuestions{500}, kBetweenLines{10000};

std::string this_pod(const KubernetesClusterResolverOptions& options) {
  if (!options.pod_name.empty()) return options.pod_name;
  if (std::string name = environment_variable("POD_NAME"); !name.empty()) return name;
  char name[256] = {0};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "";
}

}  // namespace

class KubernetesClusterResolver::Body {
 public:
  explicit Body(KubernetesClusterResolverOptions options) : options_(std::move(options)) {}

  const KubernetesClusterResolverOptions& options() const { return options_; }

  struct Found {
    ClusterSpec spec;
    std::string task_type;
    std::int64_t task_id = 0;
  };
  // Asks and waits when it is called first.
  const Found& found() {
    std::lock_guard lock(mutex_);
    if (!found_) found_ = find();
    return *found_;
  }

 private:
  // One look at all jobs: the cluster, or who is missing.
  struct Look {
    std::map<std::string, std::map<std::int64_t, Pod>> jobs;
    std::vector<std::string> awaited;
    bool answered = false;
  };

  Look look(KubernetesApi& api, Clock::time_point deadline) const try {
    Look result;
    for (const auto& [job, selectors] : options_.job_to_label_mapping) {
      std::vector<Pod> pods;
      std::set<std::string> names;
      for (const std::string& selector : selectors) {
        for (Pod& pod : api.list(selector, deadline))
          if (names.insert(pod.name).second) pods.push_back(std::move(pod));
      }
      const auto expected = options_.num_tasks.find(job);
      PodTasks numbered =
          number_pods(job, pods, expected == options_.num_tasks.end() ? std::nullopt : std::optional(expected->second));
      result.jobs[job] = std::move(numbered.tasks);
      result.awaited.insert(result.awaited.end(), numbered.awaited.begin(), numbered.awaited.end());
    }
    result.answered = true;
    return result;
  } catch (const KubernetesApi::NoAnswer& none) {
    Look result;
    result.awaited.push_back("Kubernetes at " + api.server() + ": " + none.problem);
    return result;
  }

  Found find() const {
    KubernetesApi api(kKubernetes, options_.api_server, options_.pod_namespace, options_.service_account);
    const auto deadline = Clock::now() + milliseconds(static_cast<std::int64_t>(options_.start_timeout * 1000.0));
    auto next_line = Clock::now() + kBetweenLines / 5;
    for (;;) {
      const Look seen = look(api, deadline);
      if (seen.awaited.empty()) return to_found(seen, api.pod_namespace());
      const auto now = Clock::now();
      if (now >= deadline) {
        throw Error(seen.answered ? ErrorCode::DeadlineExceeded : ErrorCode::Unavailable, kKubernetes,
                    "every pod of the cluster is expected to run within start_timeout",
                    {{"start_timeout", options_.start_timeout},
                     {"namespace", api.pod_namespace()},
                     {"missing", join(seen.awaited, {}, "; ")}},
                    "Look at them with kubectl describe, or wait longer.");
      }
      if (now >= next_line) {
        log::info(std::string(kKubernetes) + ": waiting for " + join(seen.awaited, {}, "; ") + ".");
        next_line = now + kBetweenLines;
      }
      std::this_thread::sleep_for(std::min<Clock::duration>(kBetweenQuestions, deadline - now));
    }
  }

  std::string address_of(const Pod& pod, const std::string& pod_namespace) const {
    const auto port = pod.ports.find(options_.port_name);
    Address address{pod.ip, port == pod.ports.end() ? options_.tf_server_port : port->second};
    if (options_.use_host_names && !pod.host_name.empty()) address.host = pod.host_name + "." + pod_namespace + ".svc";
    return address.to_string();
  }

  Found to_found(const Look& seen, const std::string& pod_namespace) const {
    const std::string own = this_pod(options_);
    Found result;
    std::map<std::string, ClusterSpec::Tasks> jobs;
    std::map<std::string, std::string> owners;  // pod -> task
    for (const auto& [job, tasks] : seen.jobs) {
      for (const auto& [index, pod] : tasks) {
        const auto [owner, fresh] = owners.emplace(pod.name, task_name(job, index));
        if (!fresh) {
          throw invalid_argument(kKubernetes, "label selectors must give each pod to one job",
                                 {{"pod", pod.name}, {"tasks", owner->second + ", " + task_name(job, index)}});
        }
        jobs[job][index] = address_of(pod, pod_namespace);
        if (pod.name != own) continue;
        result.task_type = job;
        result.task_id = index;
      }
    }
    result.spec = ClusterSpec(std::move(jobs));
    if (options_.task_type) result.task_type = *options_.task_type;
    if (options_.task_id) result.task_id = *options_.task_id;
    check_task(result.spec, result.task_type, result.task_id, kKubernetes);
    return result;
  }

  const KubernetesClusterResolverOptions options_;
  std::mutex mutex_;
  std::optional<Found> found_;  // guarded by the mutex
};

KubernetesClusterResolver::KubernetesClusterResolver(KubernetesClusterResolverOptions options) {
  if (options.tf_server_port < 1 || options.tf_server_port > 65535)
    throw invalid_argument(kKubernetes, "a tf_server_port from 1 to 65535 is expected",
                           {{"tf_server_port", options.tf_server_port}});
  if (!options.api_server.empty() && !options.api_server.starts_with("https://"))
    throw invalid_argument(kKubernetes, "an api_server https://host:port is expected",
                           {{"api_server", options.api_server}});
  if (!(options.start_timeout >= 0.0 && options.start_timeout <= 1e6))
    throw invalid_argument(kKubernetes, "a start_timeout of 0 to 1e6 seconds is expected",
                           {{"start_timeout", options.start_timeout}});
  for (const auto& [job, selectors] : options.job_to_label_mapping) {
    if (selectors.empty() || std::find(selectors.begin(), selectors.end(), "") != selectors.end())
      throw invalid_argument(kKubernetes, "every job must have label selectors", {{"job", job}},
                             "For example {\"worker\", {\"app=train,role=worker\"}}.");
  }
  for (const auto& [job, tasks] : options.num_tasks) {
    if (tasks < 1 || !options.job_to_label_mapping.contains(job))
      throw invalid_argument(kKubernetes, "num_tasks must be 1 or more, of jobs that have label selectors",
                             {{"job", job}, {"num_tasks", tasks}});
  }
  body_ = std::make_shared<Body>(std::move(options));
}

ClusterSpec KubernetesClusterResolver::cluster_spec() const { return body_->found().spec; }
std::string KubernetesClusterResolver::task_type() const { return body_->found().task_type; }
std::int64_t KubernetesClusterResolver::task_id() const { return body_->found().task_id; }
std::string KubernetesClusterResolver::rpc_layer() const { return body_->options().rpc_layer; }

}  // namespace cohort::distribute
