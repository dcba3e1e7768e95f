#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cohort/distribute/cluster/cluster_resolver.h"
#include "cohort/distribute/cluster/security_options.h"
#include "cohort/distribute/strategies/strategy_handle.h"

namespace cohort::distribute {

// How workers in step exchange what they reduce.
struct CommunicationOptions {
  // "RING": over shared memory between processes of one host, over gRPC between hosts; "NCCL": between GPUs; "AUTO":
  // what fits the devices.
  std::string implementation = "AUTO";
  // How many bytes of gradients cross together, while those of layers before are still computed; 0: 1 MiB. The same on
  // all workers.
  std::int64_t bytes_per_pack = 0;
  // Seconds that a reduction may take; none: 600.
  std::optional<double> timeout_seconds = std::nullopt;
  // Seconds that workers may take to come up.
  double start_timeout = 60.0;
  // Seconds without a sign of life after which a worker counts as lost.
  double dead_after = 5.0;
  // Devices of this worker, each a replica; empty: the default device. All workers have as many.
  std::vector<std::string> devices = {};
  // How workers reach one another: "shm" (all are on one host), "tcp" (sockets beside gRPC), "grpc" alone, or "auto":
  // what each pair can, in this order.
  std::string transport = "auto";
  // Where this worker listens when others reach it by another address than that, through a forwarded port; empty: at
  // its address in the cluster.
  std::string address = {};
  // How workers prove to each other who they are, beyond addresses of this machine.
  SecurityOptions security = {};
};

// Trains on several workers in step: each of them runs this same program, computes its part of every global batch and
// makes the same update with the sum of all gradients. The first one, the chief where there is one, writes files and
// shows progress. Without a cluster, and in its evaluator, it is the strategy of one device, or of several. Workers
// take the random seed of the first one when it is made.
class MultiWorkerMirroredStrategy : public StrategyHandle {
 public:
  // Waits for all workers of the cluster, or throws naming those that do not come.
  explicit MultiWorkerMirroredStrategy(const ClusterResolver& resolver, const CommunicationOptions& options = {});

  // Whether this worker writes files and shows progress.
  bool is_chief() const { return body()->is_chief(); }
};

}  // namespace cohort::distribute
