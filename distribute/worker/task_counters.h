#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "cohort/distribute/protocol/message.h"

namespace cohort::distribute {

// A number that others may read while it changes. It orders nothing else.
class TaskCounter {
 public:
  std::uint64_t get() const { return value_.load(std::memory_order_relaxed); }
  // From any thread.
  void add(std::uint64_t amount) { value_.fetch_add(amount, std::memory_order_relaxed); }
  // The following where one thread at a time writes.
  void set(std::uint64_t value) { value_.store(value, std::memory_order_relaxed); }
  void add_alone(std::uint64_t amount) { set(get() + amount); }
  void raise_to(std::uint64_t least) {
    if (get() < least) set(least);
  }
  // Goes an eighth of the way to a new sample; the first one is taken as it is.
  void follow(std::uint64_t sample) { set(get() == 0 ? sample : get() - get() / 8 + sample / 8); }
  std::atomic<std::uint64_t>& number() { return value_; }

 private:
  std::atomic<std::uint64_t> value_{0};
};

// The requests that a task has had for its job. Thread-safe; the numbers are not all of one moment.
struct RequestCounters {
  alignas(64) TaskCounter begun;
  TaskCounter ended, bytes_received, bytes_sent;
};

inline std::size_t payload_bytes(const Message& message) {
  std::size_t bytes = message.meta.size();
  for (const Tensor& part : message.parts) bytes += part.defined() ? part.bytes() : 0;
  return bytes;
}

// Counts a request while it is handled, and its reply.
class RequestInHand {
 public:
  RequestInHand(RequestCounters& counters, const Message& request, const Message& reply)
      : counters_(counters), reply_(reply) {
    counters_.begun.add(1);
    counters_.bytes_received.add(payload_bytes(request));
  }
  ~RequestInHand() {
    counters_.bytes_sent.add(payload_bytes(reply_));
    counters_.ended.add(1);
  }
  RequestInHand(const RequestInHand&) = delete;

 private:
  RequestCounters& counters_;
  const Message& reply_;
};

}  // namespace cohort::distribute
