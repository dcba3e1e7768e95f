#pragma once

#include <string>
#include <vector>

namespace cohort::bench {

// The argument under which a program that calls transport_bench() must call serve_transport_bench() and return.
inline constexpr char kTransportServerArgument[] = "--serve-transport-bench";

// Serves the measurements in a process of its own until standard input ends.
int serve_transport_bench();

// Measures transports alone ("in_process", "grpc") and, in the same run, a plain gRPC stream: the round trip of 64
// bytes and the bandwidth of 1 and 256 MiB in both directions. Returns one line of JSON.
std::string transport_bench(const std::vector<std::string>& transports);

}  // namespace cohort::bench
