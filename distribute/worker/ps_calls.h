#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cohort/core/error.h"
#include "cohort/distribute/rpc/reliable_stream.h"
#include "cohort/distribute/worker/call_thread.h"
#include "cohort/distribute/worker/task_counters.h"
#include "cohort/distribute/worker/worker_function.h"

namespace cohort::proto {
class TaskStatusProto;
}

namespace cohort::distribute {

// How a worker reaches the ps of its job.
struct PsLinkOptions {
  rpc::TransportOptions transport = {};
  std::chrono::milliseconds retry{10'000};  // how long a ps may be silent
};

// A ps that a closure needs is out of this worker's reach.
class CutOffFromPs : public Error {
 public:
  CutOffFromPs(int ps, const std::string& message) : Error(ErrorCode::Unavailable, message), ps_(ps) {}
  int ps() const { return ps_; }

 private:
  int ps_;
};

// On whose behalf the servers are called.
struct PsCaller {
  // Nobody needs the answers any more. Asked by any thread.
  std::function<bool()> has_given_up;
  // Throws in that case.
  std::function<void()> stop_if_cancelled;
};

// A worker's calls to the servers of its job, over streams that are opened when first used. Used by one thread at a
// time.
class PsCalls {
 public:
  PsCalls(std::uint64_t job, std::uint64_t incarnation, PsLinkOptions options, PsCaller caller);

  // The job's servers, in order; the way to one that stays is kept.
  void set_servers(const std::vector<std::string>& addresses);
  // Asks all servers whose call is due before it waits for one, and checks how many values their answers bring. Throws
  // CutOffFromPs naming one that does not answer.
  void call_all(std::vector<WorkerFunction::Exchange>& calls);
  void call_all(std::vector<WorkerFunction::Pull>& calls);
  // Throws CutOffFromPs naming a server that does not answer a new connection.
  void reach_all() const;
  // Adds what it has done so far. From any thread; never waits.
  void describe(proto::TaskStatusProto& status) const;

 private:
  struct PsLink {
    std::string address;
    std::unique_ptr<rpc::ReliableStream> stream;
    std::unique_ptr<CallThread> thread;  // for large messages; last, it uses the stream
  };
  rpc::ReliableStream& stream_to(int ps);
  bool has_stream_to(int ps) const;
  [[noreturn]] void rethrow_as_cut_off(int ps) const;
  template <class Call>
  auto at_ps(int ps, const Call& call);
  template <class Calls>
  void make_calls(Calls& calls);
  template <class Calls>
  void call_in_turn(Calls& calls);
  template <class Calls>
  void call_on_threads(Calls& calls);

  const std::uint64_t job_, incarnation_;
  const PsLinkOptions options_;
  const PsCaller caller_;
  TaskCounter bytes_received_, bytes_sent_, retries_;
  std::vector<PsLink> links_;  // last: their streams count
};

}  // namespace cohort::distribute
