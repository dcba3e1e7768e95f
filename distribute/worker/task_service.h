#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cohort/core/device.h"
#include "cohort/distribute/cluster/cluster_spec.h"
#include "cohort/distribute/protocol/methods.h"
#include "cohort/distribute/rpc/transport.h"
#include "cohort/distribute/worker/held_jobs.h"
#include "cohort/distribute/worker/member_book.h"
#include "cohort/distribute/worker/session_service.h"
#include "cohort/distribute/worker/task_limits.h"

namespace cohort::distribute {

class MemoryBudget;

// Jobs whose last closure was short. Thread-safe, and nobody waits: where two jobs share a place, one of them is
// forgotten.
class ShortClosures {
 public:
  bool has(std::uint64_t job) const { return place_of(job).load(std::memory_order_relaxed) == job; }
  void note(std::uint64_t job, bool was_short) {
    if (has(job) != was_short) place_of(job).store(was_short ? job : 0, std::memory_order_relaxed);
  }

 private:
  using Place = std::atomic<std::uint64_t>;
  static constexpr std::size_t kPlaces = 64;
  Place& place_of(std::uint64_t job) { return places_[job % kPlaces]; }
  const Place& place_of(std::uint64_t job) const { return places_[job % kPlaces]; }
  Place places_[kPlaces] = {};
};

// What a task does with messages: takes part in the jobs of chiefs that have said hello, as a server and as a worker.
// Thread-safe.
class TaskService : public rpc::Service {
 public:
  TaskService(ClusterSpec cluster, std::string job_name, std::int64_t task_index, rpc::TransportOptions options,
              TaskLimits limits = {});
  ~TaskService() override;

  void handle(const Message& request, Message& reply) override;
  // Workers and servers exchange values, and ask how others are; the rest is for those who lead.
  void check_caller(const TaskIdentity& caller, const Message& request) const override;
  // An echo, the push of a few values, or a closure if the last one of its job was short.
  bool is_quick(const Message& request) const override;
  // Steps begun for the job that the caller leads.
  std::uint64_t progress(std::uint64_t caller) const override { return jobs_.progress(caller); }
  // A way of a chief, which names itself by its job.
  void caller_came(std::uint64_t caller) override;
  void caller_left(std::uint64_t caller) override;
  // Waits until the last chief ends its job or is gone for too long, unless the task is to stay; or until stop().
  void wait() { jobs_.wait(); }
  // Ends the closures that have begun and refuses others, for no longer than until then; whether one had begun.
  bool leave(std::chrono::steady_clock::time_point until) { return jobs_.leave(until); }
  void stop();

 private:
  void hello(const Request<Method::Hello>& request, Reply<Method::Hello>& reply);
  void end_job(const Request<Method::EndJob>& request, Reply<Method::EndJob>& reply);
  void release(const Request<Method::Release>& request, Reply<Method::Release>& reply);
  void trace(const Request<Method::Trace>& request, Reply<Method::Trace>& reply);
  void status(const Request<Method::Status>& request, Reply<Method::Status>& reply);
  void note_reason(const std::exception& error, Head& reply) const;
  std::string name() const { return task_name(job_name_, task_index_); }

  const ClusterSpec cluster_;
  const std::string job_name_;
  const std::int64_t task_index_;
  const rpc::TransportOptions options_;
  const TaskLimits limits_;
  const std::vector<Device*> devices_;  // none: the default one
  const std::uint64_t incarnation_;
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  const std::shared_ptr<MemoryBudget> memory_;  // of all jobs' variables
  ShortClosures short_closures_;
  MemberBook members_;  // of the task, whatever its jobs
  HeldJobs jobs_;
  SessionService sessions_;
};

}  // namespace cohort::distribute
