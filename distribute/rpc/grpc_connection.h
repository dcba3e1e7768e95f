#pragma once

#include <memory>

#include "cohort/distribute/rpc/transport.h"

namespace cohort::distribute::rpc {

// Throws Unavailable with the reason when nobody answers within options.connect_timeout.
std::shared_ptr<Connection> connect_grpc(const Peer& peer, const TransportOptions& options);

}  // namespace cohort::distribute::rpc
