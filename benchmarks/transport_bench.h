#pragma once

#include <optional>
#include <string>
#include <vector>

namespace cohort::bench {

// A program that calls transport_bench() is started by it once more for each server and each client: what main() must
// return for such arguments, nothing for any others.
std::optional<int> run_transport_bench_process(const std::vector<std::string>& arguments);

// Measures transports alone ("in_process", "grpc", "grpc, secret", "grpc, certificates") beside a plain gRPC stream,
// taking turns, the client and the server of each in a process of its own: the round trip of 64 bytes, and the
// bandwidth in both directions of 1 MiB that is answered before the next, of 1 MiB one behind the other, and of 256
// MiB. Returns one line of JSON: medians over the rounds, the quartiles behind them, and the medians of each round's
// ratio to the plain stream. `only` is a part of the names of the loads to measure: "64B", "push", "" for all.
std::string transport_bench(const std::vector<std::string>& transports, int rounds, const std::string& only);

}  // namespace cohort::bench
