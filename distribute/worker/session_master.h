#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "cohort/distribute/cluster/cluster_spec.h"
#include "cohort/distribute/protocol/methods.h"
#include "cohort/distribute/rpc/timed_calls.h"
#include "cohort/distribute/worker/session_parts.h"
#include "cohort/distribute/worker/session_placer.h"

namespace cohort::distribute {

// How much a task takes upon itself for sessions.
struct SessionLimits {
  int sessions = 256;           // of which it is the master
  int runs = 128;               // of all of them at once; as many more wait for a place
  std::size_t nodes = 1 << 18;  // of a session's graph
  std::size_t plans = 256;      // runs of a session that are kept ready; the oldest is let go of for another one
};

// The sessions that clients have opened at this task: places their graphs, cuts them by task and makes tasks run their
// parts; values travel from task to task through here. Thread-safe.
class SessionMaster {
 public:
  // `parts` are this task's own, `incarnation` its identity.
  SessionMaster(ClusterSpec cluster, std::string job, std::int64_t index, std::uint64_t incarnation,
                rpc::TransportOptions transport, SessionParts& parts, SessionLimits limits = {});
  ~SessionMaster();

  void open(const Request<Method::OpenSession>& request, Reply<Method::OpenSession>& reply);
  void extend(const Request<Method::ExtendSession>& request, Reply<Method::ExtendSession>& reply);
  void run(const Request<Method::RunSession>& request, Reply<Method::RunSession>& reply);
  void close(const Request<Method::CloseSession>& request, Reply<Method::CloseSession>& reply);

  bool knows(std::uint64_t session) const;
  // Closes a session whose client is gone; nothing where there is none.
  void forget(std::uint64_t session);

 private:
  struct Plan;
  struct Session;
  class RunPlace;
  using Clock = std::chrono::steady_clock;

  std::shared_ptr<Session> session_of(const Head& head) const;
  std::shared_ptr<Plan> plan_for(Session& session, const Request<Method::RunSession>& request,
                                 Clock::time_point deadline);
  std::shared_ptr<Plan> make_plan(Session& session, const Request<Method::RunSession>& request,
                                  Clock::time_point deadline);
  void register_part(Session& session, const SessionPlace& place, std::uint64_t handle,
                     const proto::RegisterPartProto& metadata, Tensors parts, Clock::time_point deadline);
  void run_plan(const Session& session, const Plan& plan, const Tensors& feeds, std::uint64_t step,
                Clock::time_point deadline, Tensors& fetches);
  void release(std::uint64_t session, const std::string& task, const proto::ReleasePartsProto& what);
  void let_go(Session& session);
  TaskDevices devices_of(const std::string& task, Clock::time_point deadline);
  rpc::TimedCalls& calls_to(const std::string& task);
  bool is_own(const std::string& task) const { return task == name_; }

  const ClusterSpec cluster_;
  const std::string job_;
  const std::int64_t index_;
  const std::string name_;
  const std::uint64_t incarnation_;
  const rpc::TransportOptions transport_;
  SessionParts& parts_;
  const SessionLimits limits_;
  std::atomic<std::uint64_t> handles_{0};
  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable run_ended_;
  int runs_ = 0, waiting_ = 0;
  std::map<std::uint64_t, std::shared_ptr<Session>> sessions_;
  std::shared_ptr<rpc::StreamDeadlines> deadlines_;                // once another task is called
  std::map<std::string, std::unique_ptr<rpc::TimedCalls>> calls_;  // by task; stay for good
};

}  // namespace cohort::distribute
