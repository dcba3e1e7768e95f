#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cohort/distribute/cluster/cluster_resolver.h"
#include "cohort/distribute/cluster/security_options.h"
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
  double start_timeout = 60.0;  // seconds that tasks may take to come up
  // "auto": in process where a task is a server of this process, else shared memory where it is on this host, else as
  // "tcp": a socket for each stream beside gRPC, where one comes about. "shm" or "grpc": that one only.
  std::string transport = "auto";
  // A worker whose copy of a ps's variables is older than this many updates of that ps gets newer ones before it starts
  // on an execution; none: it uses those that came with its own last update, however old. Costs a round trip for each.
  std::optional<std::int64_t> max_staleness = std::nullopt;
  // The job's name: jobs of different names use the same workers and ps side by side, one chief of a name at a time;
  // empty: COHORT_JOB_NAME of the environment, or else made of the addresses of the ps.
  std::string job_name = {};
  // A file with the job's key, made where there is none: a chief that shows the same one takes over at once, also from
  // one that is silent or seems to live. Belongs into the folder of BackupAndRestore.
  std::string job_key_file = {};
  // Take the job from a chief that leads it; without, and without the key, that is refused.
  bool take_over = false;
  // Seconds without a sign of life after which a connection counts as broken.
  double dead_after = 5.0;
  // Seconds that a worker may hear nothing from a ps before its work is given to others; it works again once it can
  // reach the ps.
  double ps_retry = 10.0;
  // Seconds that the chief may hear nothing from a ps before the ps, and the job, is lost. One where nobody listens any
  // more is lost at once.
  double ps_lost_after = 30.0;
  // Seconds that a worker may take for a step before it counts as lost, however alive it is. After 8 it is named in the
  // log.
  double stuck_after = 300.0;
  // Seconds that work waits when no worker can be reached.
  double worker_timeout = 60.0;
  // Workers may join and leave while a job runs (`cohort server --join`): the first ps keeps a book of them. One worker
  // is enough to begin, and the cluster need not list any.
  bool workers_may_join = false;
  // Where workers may join: pipelines that data is divided into by files, or by a DatasetCreator that does not say;
  // fixed when a job first starts. 0: 8, or as many as there are workers then, if those are more.
  int input_pipelines = 0;
  // How the chief proves who it is to tasks beyond this machine; its certificate is that of chief 0.
  SecurityOptions security = {};
};

// Variables live on the cluster's ps tasks, workers compute steps at their own pace, this process (the chief) leads.
class ParameterServerStrategy : public StrategyHandle {
 public:
  // Reaches every task of the cluster, or throws naming those that do not answer.
  explicit ParameterServerStrategy(const ClusterResolver& resolver, ParameterServerStrategyOptions options = {});

  // On a cluster that was reached before; the options that say how to reach and use one do not count.
  explicit ParameterServerStrategy(std::shared_ptr<ClusterRuntime> runtime,
                                   ParameterServerStrategyOptions options = {});

  // What it holds of the cluster: connections, queue of closures and datasets; shared with its coordinators.
  const std::shared_ptr<ClusterRuntime>& runtime() const { return runtime_; }

 private:
  std::shared_ptr<ClusterRuntime> runtime_;
};

}  // namespace cohort::distribute
