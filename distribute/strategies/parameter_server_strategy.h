#pragma once

#include "cohort/distribute/cluster/cluster_resolver.h"
#include "cohort/distribute/partitioners.h"
#include "cohort/distribute/strategies/strategy_handle.h"

namespace cohort::distribute {

struct ParameterServerStrategyOptions {
  Partitioner variable_partitioner = {};  // none: variables stay whole
};

// Variables live on the cluster's ps tasks, workers compute steps at their own pace, this process (the chief) leads.
class ParameterServerStrategy : public StrategyHandle {
 public:
  // Reaches every task of the cluster, or throws naming those that do not answer.
  explicit ParameterServerStrategy(const ClusterResolver& resolver, ParameterServerStrategyOptions options = {});
};

}  // namespace cohort::distribute
