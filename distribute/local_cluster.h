#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cohort/distribute/cluster/simple_cluster_resolver.h"
#include "cohort/distribute/server.h"

namespace cohort::distribute {

// What a LocalCluster is made with.
struct LocalClusterOptions {
  // "auto": the tasks call each other directly; "shm", "tcp", "grpc": as tasks of other processes do all the same.
  std::string transport = "auto";
  // Threads that each task computes with, of those that all of them share; 0: as many as there are.
  int threads = 0;
  // Devices that each worker computes on, in step, as ServerOptions has them.
  std::vector<std::string> devices = {};
};

// A cluster whose tasks are all servers of this process: to try things out, and for tests. Its servers stop with it, so
// it must outlive the strategies that use it.
class LocalCluster {
 public:
  // Starts the servers.
  //   jobs: job names and numbers of tasks: LocalCluster cluster({{"worker", 3}, {"ps", 2}});
  explicit LocalCluster(const std::vector<std::pair<std::string, int>>& jobs, LocalClusterOptions options = {});

  // The cluster, with its addresses.
  const ClusterSpec& spec() const { return spec_; }
  // What the strategy takes: this process leads.
  SimpleClusterResolver resolver() const { return SimpleClusterResolver(spec_); }

 private:
  ClusterSpec spec_;
  std::vector<std::unique_ptr<Server>> servers_;
};

}  // namespace cohort::distribute
