#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cohort/distribute/rpc/reliable_stream.h"
#include "cohort/distribute/rpc/transport.h"

namespace cohort::distribute {

// A worker's ways to the servers of its job, opened when first used. Used by one thread at a time.
class ParameterServerLinks {
 public:
  explicit ParameterServerLinks(rpc::TransportOptions options) : options_(std::move(options)) {}
  void set_addresses(const std::vector<std::string>& addresses);
  rpc::ReliableStream& to(int ps);

 private:
  struct Link {
    std::string address;
    std::unique_ptr<rpc::ReliableStream> stream;
  };
  rpc::TransportOptions options_;
  std::vector<Link> links_;
};

}  // namespace cohort::distribute
