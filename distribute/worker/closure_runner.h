#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "cohort/distribute/worker/pipelines.h"
#include "cohort/distribute/worker/server_links.h"
#include "cohort/distribute/worker/worker_function.h"

namespace cohort::distribute {

// Runs closures of a job on this task, one after the other: takes elements, runs the function's stages, and exchanges
// gradients for fresh values with the servers. Thread-safe.
class ClosureRunner {
 public:
  ClosureRunner(ConstantStore& constants, Pipelines& pipelines, std::uint64_t job, std::uint64_t incarnation,
                rpc::TransportOptions options);

  void register_function(const rpc::Message& request);
  void run(const rpc::Message& request, rpc::Message& reply);
  // Closures up to this one end before their next step.
  void cancel(std::uint64_t closure);

 private:
  struct Run;
  std::shared_ptr<Replica> find_replica(const std::string& name, int server, const TensorSpec& spec);
  void run_closure(const rpc::Message& request, rpc::Message& reply);
  void refresh_replicas(WorkerFunction& function, Run& run);
  bool take_elements(WorkerFunction& function, Run& run);
  void run_step(WorkerFunction& function, Run& run);
  void run_stage(WorkerFunction& function, std::size_t stage, Run& run);
  void run_exchanges(WorkerFunction& function, std::size_t round, Run& run);
  void send(WorkerFunction& function, std::size_t round, WorkerFunction::Exchange& exchange, Run& run);
  void receive(WorkerFunction& function, WorkerFunction::Exchange& exchange, Run& run);
  void stop_if_cancelled(std::uint64_t closure) const;
  rpc::Head exchange_head(const Run& run) const;
  static void install(const std::vector<std::shared_ptr<Replica>>& replicas, const rpc::Message& reply,
                      std::size_t first_part);

  ConstantStore& constants_;
  Pipelines& pipelines_;
  const std::uint64_t job_, incarnation_;
  std::atomic<std::uint64_t> cancelled_up_to_{0};

  std::mutex mutex_;  // guards what follows: one closure at a time
  ServerLinks servers_;
  std::map<std::string, std::shared_ptr<Replica>> replicas_;
  std::unordered_map<std::uint64_t, std::unique_ptr<WorkerFunction>> functions_;
  // The newest results, for a chief that asks again.
  std::deque<std::pair<std::uint64_t, rpc::Message>> finished_;
};

}  // namespace cohort::distribute
