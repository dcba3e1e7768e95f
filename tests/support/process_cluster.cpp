#include "tests/support/process_cluster.h"

#include <map>

#include "tests/support/free_ports.h"

namespace cohort::test {

ProcessCluster::ProcessCluster(int workers, int servers, std::size_t payload, bool proxied_workers,
                               const std::vector<std::string>& arguments)
    : addresses_(free_addresses(static_cast<std::size_t>(workers + servers))) {
  std::map<std::string, std::vector<std::string>> jobs;
  const auto first_server = addresses_.begin() + workers;
  jobs["worker"] = {addresses_.begin(), first_server};
  jobs["ps"] = {first_server, addresses_.end()};
  const auto put_proxies_before = [&](const char* job, std::vector<std::unique_ptr<TcpProxy>>& proxies) {
    for (std::string& address : jobs[job]) {
      proxies.push_back(std::make_unique<TcpProxy>(address, payload));
      address = proxies.back()->address();
      addresses_.push_back(address);
    }
  };
  if (payload > 0) put_proxies_before("ps", proxies_);
  if (payload > 0 && proxied_workers) put_proxies_before("worker", worker_proxies_);
  // What goes through memory comes by no proxy.
  std::vector<std::string> with_transport = arguments;
  if (payload > 0) with_transport.insert(with_transport.end(), {"--transport", "tcp"});
  spec_ = distribute::ClusterSpec(jobs);
  const auto start = [&](const std::string& job, int index, const std::string& address) {
    return std::make_unique<ServerProcess>(job, index, spec_.as_text(), address,
                                           logs_.file(job + std::to_string(index)), with_transport);
  };
  for (int i = 0; i < servers; ++i) {
    servers_.push_back(start("ps", i, addresses_[static_cast<std::size_t>(workers + i)]));
  }
  for (int i = 0; i < workers; ++i) {
    workers_.push_back(start("worker", i, addresses_[static_cast<std::size_t>(i)]));
  }
}

}  // namespace cohort::test
