#include "cohort/distribute/cluster/union_cluster_resolver.h"

#include <algorithm>
#include <map>
#include <utility>

#include "cohort/core/error.h"

namespace cohort::distribute {
namespace {

constexpr const char* kUnion = "UnionClusterResolver";

bool has_holes(const ClusterSpec& spec, const std::string& job) {
  return spec.num_tasks(job) > 0 && spec.task_indices(job).back() != spec.num_tasks(job) - 1;
}

// Whether some of the clusters number the tasks of a job by hand.
bool is_sparse(const std::vector<ClusterSpec>& specs, const std::string& job) {
  return std::any_of(specs.begin(), specs.end(),
                     [&](const ClusterSpec& spec) { return spec.has_job(job) && has_holes(spec, job); });
}

std::vector<ClusterSpec> cluster_specs_of(const std::vector<std::shared_ptr<const ClusterResolver>>& resolvers) {
  std::vector<ClusterSpec> specs;
  for (const auto& resolver : resolvers) specs.push_back(resolver->cluster_spec());
  return specs;
}

}  // namespace

UnionClusterResolver::UnionClusterResolver(std::vector<std::shared_ptr<const ClusterResolver>> resolvers,
                                           UnionClusterResolverOptions options)
    : resolvers_(std::move(resolvers)), options_(std::move(options)) {
  if (resolvers_.empty() || std::find(resolvers_.begin(), resolvers_.end(), nullptr) != resolvers_.end())
    throw invalid_argument(kUnion, "one resolver or more are expected", {{"resolvers", resolvers_.size()}});
}

ClusterSpec UnionClusterResolver::cluster_spec() const {
  const std::vector<ClusterSpec> specs = cluster_specs_of(resolvers_);
  std::map<std::string, ClusterSpec::Tasks> jobs;
  for (const ClusterSpec& spec : specs) {
    for (const std::string& job : spec.jobs()) {
      ClusterSpec::Tasks& tasks = jobs[job];
      const std::int64_t before = is_sparse(specs, job) ? 0 : static_cast<std::int64_t>(tasks.size());
      for (const std::int64_t index : spec.task_indices(job)) {
        const auto [place, fresh] = tasks.emplace(before + index, spec.task_address(job, index));
        if (fresh) continue;
        throw Error(
            ErrorCode::AlreadyExists, kUnion, "a task must be in one of the clusters only",
            {{"task", task_name(job, index)}, {"addresses", place->second + ", " + spec.task_address(job, index)}},
            "Give the tasks of one of the clusters other numbers.");
      }
    }
  }
  return ClusterSpec(std::move(jobs));
}

std::string UnionClusterResolver::task_type() const {
  if (options_.task_type) return *options_.task_type;
  for (const auto& resolver : resolvers_)
    if (std::string type = resolver->task_type(); !type.empty()) return type;
  return {};
}

std::int64_t UnionClusterResolver::task_id() const {
  if (options_.task_id) return *options_.task_id;
  const std::string job = task_type();
  const std::vector<ClusterSpec> specs = cluster_specs_of(resolvers_);
  std::int64_t before = 0;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (resolvers_[i]->task_type() == job) return before + resolvers_[i]->task_id();
    if (specs[i].has_job(job) && !is_sparse(specs, job)) before += specs[i].num_tasks(job);
  }
  return resolvers_.front()->task_id();
}

std::string UnionClusterResolver::master(std::string task_type, std::int64_t task_id) const {
  if (task_type.empty() && !options_.task_type && !options_.rpc_layer) {
    if (std::string first = resolvers_.front()->master(); !first.empty()) return first;
  }
  return ClusterResolver::master(std::move(task_type), task_id);
}

std::string UnionClusterResolver::rpc_layer() const {
  return options_.rpc_layer.value_or(resolvers_.front()->rpc_layer());
}

std::string UnionClusterResolver::environment() const { return resolvers_.front()->environment(); }

}  // namespace cohort::distribute
