#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "cohort/distribute/rpc/transport.h"

namespace cohort::test {

// Makes TransportOptions::wrap, which lets every reply arrive that much later, and every connection come about so.
std::function<std::shared_ptr<distribute::rpc::Connection>(std::shared_ptr<distribute::rpc::Connection>)>
delayed_transport(std::chrono::milliseconds delay);

}  // namespace cohort::test
