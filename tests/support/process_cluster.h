#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "cohort/distribute/cluster/cluster_spec.h"
#include "tests/support/paths.h"
#include "tests/support/server_process.h"
#include "tests/support/tcp_proxy.h"

namespace cohort::test {

// Workers and parameter servers as processes of this machine, killed at the end of the scope.
class ProcessCluster {
 public:
  // With a payload, every ps, or every worker too, is reached through a proxy that knows messages of that many bytes.
  // `arguments` are given to every task besides.
  ProcessCluster(int workers, int servers, std::size_t payload = 0, bool proxied_workers = false,
                 const std::vector<std::string>& arguments = {});

  // The addresses by which tasks reach one another.
  const distribute::ClusterSpec& spec() const { return spec_; }
  int num_workers() const { return static_cast<int>(workers_.size()); }
  int num_servers() const { return static_cast<int>(servers_.size()); }
  ServerProcess& worker(int index) { return *workers_.at(static_cast<std::size_t>(index)); }
  ServerProcess& server(int index) { return *servers_.at(static_cast<std::size_t>(index)); }
  // Before a ps.
  TcpProxy& proxy(int index) { return *proxies_.at(static_cast<std::size_t>(index)); }
  // Before a worker, where there are such.
  TcpProxy& worker_proxy(int index) { return *worker_proxies_.at(static_cast<std::size_t>(index)); }
  // All ports that somebody of the cluster listens on.
  const std::vector<std::string>& addresses() const { return addresses_; }

 private:
  TemporaryFolder logs_;
  std::vector<std::string> addresses_;
  distribute::ClusterSpec spec_;
  std::vector<std::unique_ptr<TcpProxy>> proxies_, worker_proxies_;
  std::vector<std::unique_ptr<ServerProcess>> servers_, workers_;
};

}  // namespace cohort::test
