#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cohort/distribute/cluster/cluster_resolver.h"

namespace cohort::distribute {

// What to say in place of what the resolvers of a union say.
struct UnionClusterResolverOptions {
  // The job of this process's task; none: that of the first resolver that knows.
  std::optional<std::string> task_type = std::nullopt;
  // The number of this process's task; none: that of the first resolver that knows the job.
  std::optional<std::int64_t> task_id = std::nullopt;
  // The protocol in front of addresses; none: the first resolver's.
  std::optional<std::string> rpc_layer = std::nullopt;
};

// Several clusters as one. Tasks of a job that several have follow one another in the order of the resolvers; where one
// of them has holes in its numbers, all keep theirs, and a number that two claim is an error (AlreadyExists).
class UnionClusterResolver : public ClusterResolver {
 public:
  // Of one resolver or more, which it keeps.
  explicit UnionClusterResolver(std::vector<std::shared_ptr<const ClusterResolver>> resolvers,
                                UnionClusterResolverOptions options = {});
  // Of copies of these.
  template <std::derived_from<ClusterResolver>... Resolvers>
  requires(sizeof...(Resolvers) > 1) explicit UnionClusterResolver(const Resolvers&... resolvers)
      : UnionClusterResolver(
            std::vector<std::shared_ptr<const ClusterResolver>>{std::make_shared<const Resolvers>(resolvers)...}) {}
  ClusterSpec cluster_spec() const override;
  std::string task_type() const override;
  std::int64_t task_id() const override;
  // Without arguments as the first resolver says, where that says anything.
  std::string master(std::string task_type = {}, std::int64_t task_id = -1) const override;
  std::string rpc_layer() const override;
  std::string environment() const override;

 private:
  std::vector<std::shared_ptr<const ClusterResolver>> resolvers_;
  UnionClusterResolverOptions options_;
};

}  // namespace cohort::distribute
