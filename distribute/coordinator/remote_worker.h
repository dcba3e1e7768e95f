#pragma once

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

  const std::string& task() const override { return connections_->worker(index_).task; }
  void start(const Closure& closure, std::uint64_t all_done_below) override;
  ClosureResult finish(const Closure& oldest) override;
  void cancel() override;
  bool reconnect() override;

 private:
  void register_function(const PlacedFunction& function);
  void create_pipeline(int dataset, int pipeline);
  [[noreturn]] void rethrow_as_lost_task() const;

  std::shared_ptr<TaskConnections> connections_;
  std::shared_ptr<const PipelineDatasets> datasets_;
  const int index_;
  std::shared_ptr<rpc::Connection> connection_;
  std::unique_ptr<rpc::RepeatingStream> calls_;     // registrations
  std::unique_ptr<rpc::RepeatingStream> closures_;  // several in flight
  SentConstants constants_;
  std::set<std::uint64_t> functions_;        // that it has been told of
  std::set<std::pair<int, int>> pipelines_;  // likewise
  std::mutex mutex_;                         // guards what follows, which cancel() uses
  std::shared_ptr<rpc::Connection> cancel_connection_;
  std::uint64_t newest_closure_ = 0;
  Message reply_;
};

}  // namespace cohort::distribute
