#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "cohort/core/device.h"
#include "cohort/distribute/collective/replica_group.h"
#include "cohort/distribute/strategies/replica_threads.h"
#include "cohort/distribute/strategies/replica_variables.h"
#include "cohort/variables/replica_context.h"

namespace cohort::distribute {

// How what replicas reduce crosses to other workers.
struct CrossingOptions {
  // Bytes of gradients that cross together while others are computed; 0: all of them, when they are there.
  std::int64_t bytes_per_pack = 0;
  // They cross on a thread of their own.
  bool has_thread = false;
  // Threads that a replica computes with, where workers share the cores of a host; 0: all of them.
  int threads = 0;
  // Makes the devices reduce among themselves; empty: the hosts do.
  ReplicaGroup::JoinDevices join_devices = {};
};

// The replicas of one process that train in step: their devices, threads, copies of variables, and what they meet by.
class ReplicaSet {
 public:
  // One replica on each device; the first is that of the thread that runs them.
  //   workers: those of other processes meet them by it, as many on each; nullptr: there are none.
  explicit ReplicaSet(std::vector<Device*> devices, std::shared_ptr<collective::Communicator> workers = nullptr,
                      const CrossingOptions& crossing = {});
  ~ReplicaSet();

  // How many there are.
  int size() const { return static_cast<int>(devices_.size()); }
  // Where a replica computes.
  Device& device(int replica) const { return *devices_[static_cast<std::size_t>(replica)]; }
  // What a replica's code asks for.
  const ReplicaContext& context(int replica) const;
  // What stands for a resource in a replica's graphs.
  const Tensor& bind(const Tensor& capture, int replica, bool reads_whole = false);
  // The copies of variables.
  ReplicaVariables& variables() { return variables_; }
  // Runs the work of every replica at the same time, that of the first one on the calling thread; throws what went
  // wrong first. What was written to variables before is there, and what replicas write is settled when it returns. One
  // caller at a time.
  //   rows: how many samples of the global batch each replica has. What one without a sample adds up does not count.
  //   meets: replicas meet in the work. Where they do not, one without a sample does none.
  //   all_rows: samples of the global batch, where other workers have some; none: those of the replicas here.
  void run(const std::vector<std::int64_t>& rows, bool meets, const std::function<void(int replica)>& work,
           std::optional<std::int64_t> all_rows = std::nullopt);
  // The same for a user's code: in the context of each replica, on its device and copies of variables; one at a time
  // but for the graphs of functions.
  void run_code(const std::vector<std::int64_t>& rows, const std::function<void(int replica)>& code,
                std::optional<std::int64_t> all_rows = std::nullopt);
  // Runs the rest of what a run has begun and left for later.
  void finish(const std::function<void(int replica)>& work);
  // Whether their devices reduce among themselves.
  bool devices_reduce() const { return group_.member(0)->enqueues(); }
  // Throws what has ended such reductions, whose values are then worth nothing.
  void check() const { group_.check(); }

 private:
  void set_loss_shares(const std::vector<std::int64_t>& rows, std::int64_t all_rows);
  void run_threads(const std::function<void(int replica)>& work);
  // Threads that each computes with; 0: all of them.
  int threads_of_replica() const;

  const std::vector<Device*> devices_;
  const int threads_of_replica_;
  ReplicaGroup group_;
  std::vector<Tensor> collectives_;  // by replica; traces capture the first one's
  Variable loss_share_;
  std::vector<float> shares_;
  ReplicaVariables variables_;
  std::vector<ReplicaContext> contexts_;
  ReplicaThreads threads_;
};

}  // namespace cohort::distribute
