#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>

#include "cohort/core/error.h"
#include "cohort/distribute/cluster/cluster_spec.h"
#include "cohort/distribute/protocol/methods.h"
#include "cohort/distribute/rpc/transport.h"

namespace cohort::distribute {

// What a task does with messages: takes part in the job of the chief that said hello last, as a server and as a worker.
// Thread-safe.
class TaskService : public rpc::Service {
 public:
  TaskService(ClusterSpec cluster, std::string job_name, std::int64_t task_index, rpc::TransportOptions options);
  ~TaskService() override;

  void handle(const Message& request, Message& reply) override;
  // An echo, or the push of a few values.
  bool is_quick(const Message& request) const override;
  // Waits until a chief ends its job or stop() is called.
  void wait();
  void stop();

 private:
  struct Job;
  void hello(const Request<Method::Hello>& request, Reply<Method::Hello>& reply);
  void end_job(const Request<Method::EndJob>& request, Reply<Method::EndJob>& reply);
  void take_over(std::uint64_t id);
  void note_before(std::uint64_t id);
  Error taken_over(std::string_view method) const;
  std::shared_ptr<Job> job_of(const Head& head);
  std::string name() const { return task_name(job_name_, task_index_); }

  const ClusterSpec cluster_;
  const std::string job_name_;
  const std::int64_t task_index_;
  const rpc::TransportOptions options_;
  const std::uint64_t incarnation_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable ended_changed_;
  bool ended_ = false;    // the job is over; the next one starts over
  bool stopped_ = false;  // for good
  std::shared_ptr<Job> job_;
  std::deque<std::uint64_t> jobs_before_;  // that others have taken over from, or that have ended
};

}  // namespace cohort::distribute
