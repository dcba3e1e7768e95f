#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "cohort/data/dataset.h"
#include "cohort/distribute/coordinator/closure.h"
#include "cohort/distribute/coordinator/cluster.h"
#include "cohort/distribute/rpc/repeating_stream.h"

namespace cohort::distribute {

// The pipelines of all datasets that closures take elements from. Thread-safe.
class PipelineDatasets {
 public:
  struct Entry {
    Dataset dataset;
    // Where an iterator made here begins: a dataset walked before is shuffled in another order than one just made.
    std::string beginning;
  };
  // One dataset for each pipeline; the number by which closures name them. With `beginnings`, pipelines begin where
  // those of another process did.
  int add(std::vector<Dataset> pipelines, const std::vector<std::string>& beginnings = {});
  Entry find(int dataset, int pipeline) const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::vector<Entry>> datasets_;
};

// A worker as the coordinator's thread for it uses it: tells it of functions and pipelines when they are first needed,
// sends closures ahead and takes results in order.
class RemoteWorker : public WorkerLink {
 public:
  RemoteWorker(std::shared_ptr<Cluster> cluster, std::shared_ptr<const PipelineDatasets> datasets, int index);

  const std::string& task() const override { return cluster_->worker(index_).task; }
  void start(const Closure& closure, std::uint64_t all_done_below) override;
  ClosureResult finish() override;
  void cancel() override;
  bool reconnect() override;

 private:
  void create_pipeline(int dataset, int pipeline);
  void send(const Closure& closure, std::uint64_t all_done_below);
  template <class F>
  void saying_who_is_gone(F call) const;

  std::shared_ptr<Cluster> cluster_;
  std::shared_ptr<const PipelineDatasets> datasets_;
  const int index_;
  std::shared_ptr<rpc::Connection> connection_;
  std::unique_ptr<rpc::RepeatingStream> calls_;     // registrations
  std::unique_ptr<rpc::RepeatingStream> closures_;  // several under way
  SentConstants constants_;
  std::set<std::uint64_t> functions_;
  std::set<std::pair<int, int>> pipelines_;
  std::mutex mutex_;  // guards what follows, which cancel() uses
  std::shared_ptr<rpc::Connection> cancel_connection_;
  std::uint64_t newest_ = 0;
  Message reply_;
};

}  // namespace cohort::distribute
