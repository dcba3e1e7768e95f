#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "cohort/distribute/coordinator/pipeline_datasets.h"
#include "cohort/distribute/coordinator/task_connections.h"
#include "cohort/distribute/coordinator/worker_link.h"
#include "cohort/distribute/rpc/repeating_stream.h"

namespace cohort::distribute {

// A worker as the coordinator's thread for it uses it: tells it of functions and pipelines when they are first needed,
// sends closures ahead and takes results in order.
class RemoteWorker : public WorkerLink {
 public:
  RemoteWorker(std::shared_ptr<TaskConnections> connections, std::shared_ptr<const PipelineDatasets> datasets,
               int index);

  const std::string& task() const override { return task_; }
  void start(const Closure& closure) override;
  ClosureResult finish(const Closure& oldest) override;
  bool wanted() const override { return present_.load(std::memory_order_relaxed); }
  bool alive() override { return in_flight_ > 0 || !connection_ || connection_->alive(); }
  bool began() const override { return began_; }
  std::uint64_t incarnation() const override { return incarnation_; }
  void cancel() override;
  bool reconnect() override;
  std::optional<std::uint64_t> movement() override;
  StepTimes step_times() const override { return {steps_done_, step_nanoseconds_}; }
  std::size_t in_flight() const override { return in_flight_; }
  void abandon(const std::string& why) override;

 private:
  Head head() const;
  void register_function(const PlacedFunction& function);
  void create_pipeline(int dataset, int pipeline);
  void forget_all(rpc::RepeatingStream& calls);
  void tell_releases();
  [[noreturn]] void rethrow_as_lost_worker();
  [[noreturn]] void cut_off_from(int ps, const Error& why);

  std::shared_ptr<TaskConnections> connections_;
  std::shared_ptr<const PipelineDatasets> datasets_;
  const int index_;
  const std::string task_;
  const std::atomic<bool>& present_;
  PendingReleases::Task& releases_;
  std::shared_ptr<rpc::Connection> connection_;
  std::uint64_t incarnation_ = 0;
  std::atomic<std::size_t> in_flight_ = 0;
  std::chrono::steady_clock::time_point answered_;  // the newest result
  int cut_off_ps_ = -1;                             // that it could not reach
  bool began_ = false;                              // it has answered since it has the oldest closure, or just before
  // Changed under the mutex, by the thread that uses them.
  std::unique_ptr<rpc::RepeatingStream> calls_;     // registrations
  std::unique_ptr<rpc::RepeatingStream> closures_;  // several in flight
  SentConstants constants_;
  std::set<std::uint64_t> functions_;        // that it has been told of
  std::set<std::pair<int, int>> pipelines_;  // likewise
  std::atomic<bool> waited_for_ = false;
  std::atomic<std::uint64_t> answers_{0};
  std::atomic<std::uint64_t> steps_done_{0}, step_nanoseconds_{0};
  std::mutex mutex_;       // guards what follows, which other threads use
  std::string abandoned_;  // why nobody waits for it any more
  std::shared_ptr<rpc::Connection> cancel_connection_;
  Message reply_;
};

}  // namespace cohort::distribute
