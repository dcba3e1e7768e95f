#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "cohort/distribute/worker/memory_budget.h"
#include "cohort/distribute/worker/pipelines.h"
#include "cohort/distribute/worker/ps_calls.h"
#include "cohort/distribute/worker/task_counters.h"
#include "cohort/distribute/worker/worker_function.h"

namespace cohort::distribute {

// Runs closures of a job on this task, one after the other: takes elements, runs the function's stages, and exchanges
// gradients for fresh values with the servers. Thread-safe.
class ClosureRunner {
 public:
  // Functions may name the servers at `ps_addresses` and no others. `devices` and `threads` as WorkerDevices has them.
  // Replicas take of `memory`.
  ClosureRunner(ConstantStore& constants, Pipelines& pipelines, std::vector<std::string> ps_addresses,
                std::uint64_t job, std::uint64_t incarnation, PsLinkOptions options,
                const std::vector<Device*>& devices = {}, int threads = 0,
                std::shared_ptr<MemoryBudget> memory = std::make_shared<MemoryBudget>(0));

  void register_function(const Request<Method::RegisterWorker>& request, Reply<Method::RegisterWorker>& reply);
  void run(const Request<Method::RunClosure>& request, Reply<Method::RunClosure>& reply);
  // Begins the request's epoch.
  void cancel(const Request<Method::Cancel>& request, Reply<Method::Cancel>& reply);
  // Says in the reply's head which closure runs (0: none) and how many steps have been run. Never waits.
  void progress(const Request<Method::Progress>& request, Reply<Method::Progress>& reply);
  std::uint64_t steps_begun() const { return steps_begun_.load(std::memory_order_relaxed); }
  // Adds what it has done so far. Never waits.
  void describe(proto::TaskStatusProto& status) const;
  // Throws CutOffFromPs naming one that does not answer.
  void reach_ps(const Request<Method::ReachPs>& request, Reply<Method::ReachPs>& reply);
  // Closures that have begun go on; others end before they begin.
  void leave() { leaving_ = true; }
  // Whether none runs.
  bool is_idle() const { return running_ == 0; }
  // All closures, also those still to come, end before their next step.
  void end() { ended_ = true; }
  // Closures of earlier epochs end likewise: their chief has cancelled them or given them to others.
  void begin_epoch(std::uint64_t epoch);
  // Closures that have come so far end likewise: nobody waits for them.
  void end_orphans() { begin_epoch(newest_epoch_ + 1); }
  // Functions go before the next closure begins or function comes. Never waits for a closure.
  void release(const proto::ReleaseProto& releases);
  void release_all();

 private:
  struct Run;
  struct Finished {
    std::uint64_t closure;
    std::shared_ptr<const proto::ClosureResultProto> metadata;
    Tensors parts;
  };
  std::shared_ptr<Replica> find_replica(const std::string& name, int ps, const TensorSpec& spec);
  WorkerFunction& find_function(std::uint64_t handle) const;
  void drop_released();
  void begin_closure(WorkerFunction& function, const Tensors& arguments, Run& run);
  void refresh_replicas(WorkerFunction& function, Run& run);
  void check_staleness(WorkerFunction& function, const Run& run);
  bool take_elements(WorkerFunction& function, Run& run);
  void bind_element(WorkerFunction& function, std::size_t input, const Tensor& leaf);
  void run_step(WorkerFunction& function, Run& run);
  void run_stage(WorkerFunction& function, std::size_t number, Run& run);
  void run_lane(WorkerFunction& function, std::size_t number, std::size_t lane, const RandomState& random);
  void run_on_device(WorkerFunction& function, std::size_t number, std::size_t lane, const RandomState& random);
  void push_outputs(WorkerFunction& function, std::size_t stage, std::span<const std::size_t> outputs);
  void read_pushed(WorkerFunction& function, std::vector<WorkerFunction::Exchange>& exchanges);
  // Gives the answers' values to the copies on all devices; for_each_call(with) calls with(call, first value).
  template <class ForEachCall>
  void install(const ForEachCall& for_each_call);
  void install_pulled(WorkerFunction& function);
  void install_returned(WorkerFunction& function);
  // Where a lane's stages find a value of the host: the CPU's read it where it lies.
  Tensor placed(const Tensor& value, std::size_t lane) const;
  void run_exchanges(WorkerFunction& function, std::size_t round, Run& run);
  void stop_if_leaving() const;
  void stop_if_cancelled(const Head& head) const;
  bool is_cancelled(const Head& head) const;
  Head exchange_head(const Run& run) const;
  void count_step_time(std::chrono::nanoseconds time, std::int64_t steps);
  void count_staleness(const WorkerFunction::Exchange& exchange);

  ConstantStore& constants_;
  Pipelines& pipelines_;
  const std::vector<std::string> ps_addresses_;
  const std::uint64_t job_, incarnation_;
  const std::shared_ptr<MemoryBudget> memory_;
  std::atomic<bool> ended_{false}, leaving_{false};
  std::atomic<std::uint64_t> epoch_{0};         // the oldest whose closures may run
  std::atomic<std::uint64_t> newest_epoch_{0};  // that the chief has named
  std::atomic<std::uint64_t> running_{0};       // the closure that runs, 0 when none does
  std::atomic<std::uint64_t> steps_begun_{0};   // of all closures so far
  // Written by the thread that runs a closure.
  TaskCounter step_nanoseconds_, bundles_, stale_versions_, most_stale_;

  std::mutex mutex_;  // guards what follows: one closure at a time
  Head current_;      // of the closure that runs
  PsCalls ps_calls_;
  WorkerDevices devices_;
  std::map<std::string, std::weak_ptr<Replica>> replicas_;  // of the functions
  std::unordered_map<std::uint64_t, std::unique_ptr<WorkerFunction>> functions_;
  // The newest results, for a chief that asks again.
  std::deque<Finished> finished_;

  std::mutex released_mutex_;  // guards what follows
  std::vector<std::uint64_t> released_;
  bool released_all_ = false;
};

}  // namespace cohort::distribute
