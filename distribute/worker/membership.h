#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "cohort/distribute/rpc/transport.h"

namespace cohort::distribute {

// What a worker does to be found while it comes and goes: joins at the task that keeps the book of members, again every
// few seconds, and leaves at the end. A thread of its own does it, so nobody waits for the keeper. Thread-safe.
class Membership {
 public:
  //   keeper: the first ps.
  Membership(rpc::Peer keeper, rpc::TransportOptions options);
  // Leaves.
  ~Membership();
  Membership(const Membership&) = delete;

  // The lowest index that nobody has, kept for this process. Throws Unavailable, naming the keeper, when that does not
  // answer within so long.
  std::int64_t reserve_index(std::chrono::milliseconds longest);
  // From now on others find the worker at this address. What keeps the keeper from taking it is logged, and it is tried
  // again.
  void announce(std::int64_t index, std::string address, rpc::TransportOptions options);
  // The keeper hears it within a second, or not at all.
  void leave();

 private:
  std::chrono::milliseconds join_once();
  void keep_joined();
  std::shared_ptr<rpc::Stream> open();

  const rpc::Peer keeper_;
  const std::uint64_t incarnation_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  rpc::TransportOptions options_;
  std::int64_t index_ = -1;
  std::string address_;
  bool announced_ = false, leaving_ = false, joined_ = false;
  std::string problem_;                          // that was logged last
  std::shared_ptr<rpc::Connection> connection_;  // while it holds the keeper knows that this process lives
  std::shared_ptr<rpc::Stream> stream_;          // of the call under way
  std::thread thread_;
};

}  // namespace cohort::distribute
