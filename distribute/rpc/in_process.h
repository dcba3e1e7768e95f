#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>

#include "cohort/distribute/rpc/transport.h"

namespace cohort::distribute::rpc {

// A service of this process that callers of this process reach without a network. Thread-safe.
class Endpoint {
 public:
  explicit Endpoint(Service& service) : service_(&service) {}
  // False once it is closed.
  bool enter();
  void leave();
  bool is_open() const { return !closed_; }
  Service& service() { return *service_; }
  // Lets nobody in any more and waits until everybody has left.
  void close();

 private:
  Service* service_;
  std::mutex mutex_;
  std::condition_variable left_;
  int inside_ = 0;
  std::atomic<bool> closed_ = false;  // changes under the mutex
};

// The endpoints of this process by numeric address.
void add_endpoint(const std::string& address, std::shared_ptr<Endpoint> endpoint);
void remove_endpoint(const std::string& address);
std::shared_ptr<Endpoint> find_endpoint(const std::string& address);

std::shared_ptr<Connection> connect_in_process(const Peer& peer, std::shared_ptr<Endpoint> endpoint,
                                               std::uint64_t caller);

}  // namespace cohort::distribute::rpc
