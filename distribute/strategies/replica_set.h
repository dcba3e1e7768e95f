#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "cohort/core/device.h"
#include "cohort/distribute/collective/replica_group.h"
#include "cohort/distribute/collective/replica_threads.h"
#include "cohort/distribute/strategies/central_calls.h"
#include "cohort/distribute/strategies/central_steps.h"
#include "cohort/distribute/strategies/replica_merge.h"
#include "cohort/distribute/strategies/replica_variables.h"
#include "cohort/variables/replica_context.h"

namespace cohort::distribute {

// How replicas share what they make.
struct ReplicaSetOptions {
  // How they meet. Rows are not gathered where there is a keeper.
  ReplicaGroup::Options group = {};
  // The device that keeps and updates variables; nullptr: each replica updates its copies.
  Device* keeper = nullptr;
  // Bytes of gradients that cross to other workers together while others are computed; 0: all of them, when they are
  // there.
  std::int64_t bytes_per_pack = 0;
  // Threads that a replica computes with, where workers share the cores of a host; 0: all of them.
  int threads = 0;
};

// The replicas of one process that train in step: their devices, threads, copies of variables, and what they meet by.
// Variables may have a keeper: then graphs of steps leave their update to it, which takes part as number size().
class ReplicaSet {
 public:
  // One replica on each device; the first is that of the thread that runs them.
  //   workers: those of other processes meet them by it, as many on each; nullptr: there are none.
  explicit ReplicaSet(std::vector<Device*> devices, std::shared_ptr<collective::Communicator> workers = nullptr,
                      const ReplicaSetOptions& options = {});
  ~ReplicaSet();

  // How many there are.
  int size() const { return size_; }
  // The same with the keeper.
  int participants() const { return static_cast<int>(devices_.size()); }
  // Where a replica, or the keeper, computes.
  Device& device(int replica) const { return *devices_[static_cast<std::size_t>(replica)]; }
  // Where variables live.
  Device& home() const { return participants() > size() ? device(size()) : device(0); }
  // A step as replicas and the keeper run it; nullptr where there is no keeper.
  const CentralStep* central_step(const TracedGraph& step);
  // Calls a function for a replica whose code all replicas run: the keeper does the update, and what it wrote is there
  // when the call returns. Nothing: it is to be run as others are.
  std::optional<Tensors> call(int replica, const TracedGraph& function, const Tensors& arguments);
  // What a replica's code asks for.
  const ReplicaContext& context(int replica) const;
  // What stands for a resource in a replica's graphs.
  //   with_keeper: the keeper takes part where it runs.
  const Tensor& bind(const Tensor& capture, int replica, bool reads_whole = false, bool with_keeper = false);
  // The copies of variables.
  ReplicaVariables& variables() { return variables_; }
  // Runs the work of every replica at the same time, that of the first one on the calling thread; throws what went
  // wrong first. What was written to variables before is there, and what replicas write is settled when it returns.
  // Callers wait for each other; a replica's code cannot be one.
  //   rows: how many samples of the global batch each replica has. What one without a sample adds up does not count.
  //   meets: replicas meet in the work, and the keeper meets them. Where they do not, one without a sample does none.
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
  // Replicas without a sample add nothing to sums.
  void set_silent(const std::vector<std::int64_t>& rows);
  void run_among(int participants, const std::vector<std::int64_t>& rows, bool meets,
                 const std::function<void(int replica)>& work, std::optional<std::int64_t> all_rows);
  // Threads that each computes with; 0: all of them.
  int threads_of_replica() const;

  const int size_;
  const std::vector<Device*> devices_;  // the last one is the keeper's, where there is one
  const int threads_of_replica_;
  ReplicaGroup group_;
  std::unique_ptr<ReplicaGroup> with_keeper_;
  std::vector<ReplicaGroup*> groups_;                          // the two of them, where there are two
  std::vector<Tensor> collectives_, collectives_with_keeper_;  // by replica; traces capture the very first one
  Variable loss_share_;
  std::vector<float> shares_;
  ReplicaVariables variables_;
  ReplicaMerge merge_;
  std::vector<ReplicaContext> contexts_;
  CentralSteps central_steps_;
  std::unique_ptr<CentralCalls> central_calls_;
  std::mutex callers_;  // their threads serve one at a time
  ReplicaThreads threads_;
};

}  // namespace cohort::distribute
