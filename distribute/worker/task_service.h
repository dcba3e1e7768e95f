#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "cohort/core/device.h"
#include "cohort/core/error.h"
#include "cohort/distribute/cluster/cluster_spec.h"
#include "cohort/distribute/protocol/methods.h"
#include "cohort/distribute/rpc/transport.h"
#include "cohort/distribute/worker/session_service.h"
#include "cohort/files/data_root.h"

namespace cohort::distribute {

struct PsLinkOptions;

// How much a task takes on itself.
struct TaskLimits {
  std::string only_job = {};       // the only one it takes part in; empty: any
  std::uint64_t memory_limit = 0;  // bytes of its variables; 0: what the machine has
  int threads = 0;                 // of the process's pool that a request may compute with; 0: all
  std::chrono::milliseconds orphan_timeout = std::chrono::minutes(10);  // it ends so long after its chief; 0: never
  std::shared_ptr<const DataRoots> data_roots = nullptr;  // where chains of a chief may read files; nullptr: everywhere
  std::vector<std::string> devices = {};  // that a worker computes on, in step; none: all GPUs, or the default device
};

// What a task does with messages: takes part in the job of the chief that said hello last, as a server and as a worker.
// Thread-safe.
class TaskService : public rpc::Service {
 public:
  TaskService(ClusterSpec cluster, std::string job_name, std::int64_t task_index, rpc::TransportOptions options,
              TaskLimits limits = {});
  ~TaskService() override;

  void handle(const Message& request, Message& reply) override;
  // Workers and servers exchange values, and ask how others are; the rest is for those who lead.
  void check_caller(const TaskIdentity& caller, const Message& request) const override;
  // An echo, the push of a few values, or a closure if the last one was short.
  bool is_quick(const Message& request) const override;
  // Steps begun for the present job.
  std::uint64_t progress() const override;
  // A way of a chief, which names itself by its job.
  void caller_came(std::uint64_t caller) override;
  void caller_left(std::uint64_t caller) override;
  // Waits until a chief ends its job, is gone for too long, or stop() is called.
  void wait();
  void stop();

 private:
  struct Job;
  void hello(const Request<Method::Hello>& request, Reply<Method::Hello>& reply);
  void end_job(const Request<Method::EndJob>& request, Reply<Method::EndJob>& reply);
  void release(const Request<Method::Release>& request, Reply<Method::Release>& reply);
  void trace(const Request<Method::Trace>& request, Reply<Method::Trace>& reply);
  void status(const Request<Method::Status>& request, Reply<Method::Status>& reply);
  void take_over(const Request<Method::Hello>& request, const PsLinkOptions& options);
  void wait_for_place(std::unique_lock<std::mutex>& lock, const proto::HelloProto& hello);
  void note_reason(const std::exception& error, Head& reply);
  void note_before(std::uint64_t id);
  Error taken_over(std::string_view method) const;
  std::shared_ptr<Job> job_of(const Head& head);
  std::string name() const { return task_name(job_name_, task_index_); }

  const ClusterSpec cluster_;
  const std::string job_name_;
  const std::int64_t task_index_;
  const rpc::TransportOptions options_;
  const TaskLimits limits_;
  const std::vector<Device*> devices_;  // none: the default one
  const std::uint64_t incarnation_;
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  std::atomic<bool> closures_are_short_ = false;
  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable ended_changed_;
  bool ended_ = false;    // the job is over; the next one starts over
  bool stopped_ = false;  // for good
  std::shared_ptr<Job> job_;
  std::optional<std::chrono::steady_clock::time_point> orphan_since_;  // when the job's chief went
  std::map<std::uint64_t, int> callers_;                               // ways to here that each has
  std::deque<std::uint64_t> jobs_before_;  // that others have taken over from, or that have ended
  SessionService sessions_;                // has a mutex of its own
};

}  // namespace cohort::distribute
