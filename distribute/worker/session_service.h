#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "cohort/distribute/worker/session_master.h"
#include "cohort/distribute/worker/session_parts.h"

namespace cohort::distribute {

// All that a task does for sessions: it is the master of those that were opened here, and runs parts for the masters of
// others. What belongs to a client or master that has gone is let go of after a while. Thread-safe.
class SessionService {
 public:
  struct Options {
    std::shared_ptr<MemoryBudget> memory = std::make_shared<MemoryBudget>(0);  // that variables and constants take of
    SessionLimits limits = {};
    std::chrono::milliseconds gone_after{10'000};  // so long after its last way here a client is gone for good
  };
  SessionService(const ClusterSpec& cluster, const std::string& job, std::int64_t index, std::uint64_t incarnation,
                 const rpc::TransportOptions& transport, Options options);
  ~SessionService();
  SessionService(const SessionService&) = delete;

  static bool handles(Method method);
  // Whether a task that may lead nothing may ask for it: on behalf of a session that it is the master of.
  static bool is_for_masters(Method method);
  void handle(const Message& request, Message& reply);
  void caller_came(std::uint64_t caller);
  void caller_left(std::uint64_t caller);
  // Nobody is waited for any more.
  void stop();

 private:
  using Clock = std::chrono::steady_clock;
  void expect(std::uint64_t caller);
  void look_after();

  const Options options_;
  SessionParts parts_;
  SessionMaster master_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  bool stopping_ = false;
  std::map<std::uint64_t, int> ways_;                // to here that each caller has
  std::map<std::uint64_t, Clock::time_point> gone_;  // callers that something here belongs to, and since when
  std::thread looks_after_;                          // once there is anything to look after
};

}  // namespace cohort::distribute
