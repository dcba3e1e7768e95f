#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "cohort/distribute/cluster/address.h"
#include "cohort/distribute/rpc/transport.h"

namespace cohort::distribute::rpc {

// Serves requests that come over gRPC: those of a stream in order, those of several streams side by side unless they
// are quick. Thread-safe.
class GrpcServer {
 public:
  // Throws when the address cannot be had.
  GrpcServer(const Address& address, Service& service, const std::string& task, const ServingLimits& limits = {},
             const Security* security = nullptr);
  ~GrpcServer();
  int port() const;
  // As Listener's.
  void await_answers(std::chrono::steady_clock::time_point until) const;
  // Cancels all streams and waits until none is served any more.
  void stop();

 private:
  class Body;
  std::unique_ptr<Body> body_;
};

}  // namespace cohort::distribute::rpc
