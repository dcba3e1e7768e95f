#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

#include "cohort/distribute/rpc/transport.h"

namespace cohort::test {

// How often which fault happens to a request, and what has happened so far.
struct Faults {
  std::uint64_t seed = 1;
  double drop_request = 0.0;  // it never arrives
  double drop_reply = 0.0;    // it is handled, and nobody hears of it
  double duplicate = 0.0;     // it arrives twice, and so do the replies
  double late = 0.0;          // it arrives again after newer ones
  double disconnect = 0.0;    // the stream breaks, before or after the request has arrived
  // A wait for a reply that will not come ends after this time with DeadlineExceeded.
  std::chrono::milliseconds timeout{2};
};

struct FaultCounts {
  std::atomic<int> dropped_requests = 0, dropped_replies = 0, duplicates = 0, late = 0, disconnects = 0;
  int total() const { return dropped_requests + dropped_replies + duplicates + late + disconnects; }
};

// Makes TransportOptions::wrap, which lets these faults happen to every stream. Streams are numbered as
// they are opened, and a stream's number and the seed decide its faults.
std::function<std::shared_ptr<distribute::rpc::Connection>(std::shared_ptr<distribute::rpc::Connection>)>
fault_transport(const Faults& faults, std::shared_ptr<FaultCounts> counts = nullptr);

}  // namespace cohort::test
