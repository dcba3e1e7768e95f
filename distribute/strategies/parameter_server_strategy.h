#pragma once

#include <string>

#include "cohort/distribute/cluster/cluster_resolver.h"
#include "cohort/distribute/strategies/partitioners.h"
#include "cohort/distribute/strategies/strategy_handle.h"

namespace cohort::distribute {

class ClusterRuntime;

// What a ParameterServerStrategy is made with.
struct ParameterServerStrategyOptions {
  // Cuts variables into shards, which go to different ps; none: they stay whole.
  Partitioner variable_partitioner = {};
  // Which ps a variable goes to: the one that holds the fewest bytes ("bytes"; small ones stay together, 64 KiB at a
  // time), or the next one ("round_robin").
  std::string placement = "bytes";
  double start_timeout = 60.0;     // seconds that tasks may take to come up
  std::string transport = "auto";  // "auto": in process where a task is a server of this process; else "grpc"
};

// Variables live on the cluster's ps tasks, workers compute steps at their own pace, this process (the chief) leads.
class ParameterServerStrategy : public StrategyHandle {
 public:
  // Reaches every task of the cluster, or throws naming those that do not answer.
  explicit ParameterServerStrategy(const ClusterResolver& resolver, ParameterServerStrategyOptions options = {});

  // On a cluster that was reached before; the options that say how to reach one do not count.
  explicit ParameterServerStrategy(std::shared_ptr<ClusterRuntime> runtime,
                                   ParameterServerStrategyOptions options = {});

  // What it holds of the cluster: connections, queue of closures and datasets; shared with its coordinators.
  const std::shared_ptr<ClusterRuntime>& runtime() const { return runtime_; }

 private:
  std::shared_ptr<ClusterRuntime> runtime_;
};

}  // namespace cohort::distribute
