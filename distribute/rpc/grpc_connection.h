#pragma once

#include <memory>

#include "cohort/distribute/rpc/transport.h"

namespace cohort::distribute::rpc {

// A connection over gRPC; with another transport than "grpc", its streams go through shared memory where the task is
// on this host, or through sockets of their own, where and as soon as there is such a way. Throws Unavailable with the
// reason when nobody answers within options.connect_timeout.
std::shared_ptr<Connection> connect_grpc(const Peer& peer, const TransportOptions& options);

}  // namespace cohort::distribute::rpc
