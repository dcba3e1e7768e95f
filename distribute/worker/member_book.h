#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "cohort/distribute/cluster/cluster_spec.h"
#include "cohort/distribute/cluster/task_identity.h"
#include "cohort/distribute/protocol/methods.h"

namespace cohort::distribute {

struct MemberBookOptions {
  std::size_t most = 1024;  // members
  // Who has not joined again for so long is not there any more.
  std::chrono::milliseconds lease{10'000};
  // How long whoever asks for the members waits for a change at most, and how many may wait at once.
  std::chrono::milliseconds longest_wait{1000};
  int most_waiting = 32;
};

// Where workers are that come and go: index -> address and process, kept by the first ps of a cluster, for all its
// jobs. Its generation grows with every change. Thread-safe.
class MemberBook {
 public:
  // For the task of this cluster; only the first ps keeps a book, others refuse.
  MemberBook(const ClusterSpec& cluster, const std::string& job_name, std::int64_t task_index,
             MemberBookOptions options = {});

  // An index is another's while that one is heard of: only its own process may change its entry. One whose way to here
  // has broken, or that has left, may be replaced.
  void join(const Request<Method::Join>& request, Reply<Method::Join>& reply);
  void leave(const Request<Method::Leave>& request, Reply<Method::Leave>& reply);
  void members(const Request<Method::Members>& request, Reply<Method::Members>& reply);
  // Those that can be found now.
  std::map<std::int64_t, std::string> addresses() const;
  // Throws unless it is a worker that speaks for itself; for other methods than Join and Leave it says nothing.
  void check_caller(const TaskIdentity& caller, const Message& request) const;
  // Ways of members to here, which name themselves by their incarnation. Do not wait.
  void caller_came(std::uint64_t caller);
  void caller_left(std::uint64_t caller);
  // Whoever waits is answered at once from now on.
  void stop();

 private:
  using Clock = std::chrono::steady_clock;
  struct Entry {
    std::string address;  // empty: kept for one that does not listen yet
    std::uint64_t incarnation = 0;
    Clock::time_point heard;
  };

  void check_keeps() const;
  std::string checked_address(const std::string& address) const;
  // All with the mutex held.
  void forget_silent();
  bool is_gone(const Entry& entry) const { return !ways_.contains(entry.incarnation); }
  std::int64_t index_for(std::int64_t asked, std::uint64_t incarnation) const;
  void check_address_is_free(const std::string& address, std::int64_t index);
  void changed();

  const std::string name_;
  const bool keeps_;
  const std::set<std::int64_t> listed_;  // indices that the cluster has addresses for
  const MemberBookOptions options_;
  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable change_;
  std::map<std::int64_t, Entry> entries_;
  std::map<std::uint64_t, int> ways_;
  std::uint64_t generation_;
  int waiting_ = 0;
  bool stopped_ = false;
};

}  // namespace cohort::distribute
