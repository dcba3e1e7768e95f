#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "cohort/distribute/rpc/reliable_stream.h"
#include "cohort/distribute/worker/pipelines.h"
#include "cohort/distribute/worker/worker_function.h"

namespace cohort::distribute {

// Runs closures of a job on this task, one after the other: takes elements, runs the function's stages, and exchanges
// gradients for fresh values with the servers. Thread-safe.
class ClosureRunner {
 public:
  ClosureRunner(ConstantStore& constants, Pipelines& pipelines, std::uint64_t job, std::uint64_t incarnation,
                rpc::TransportOptions options);

  void register_function(const Request<Method::RegisterWorker>& request, Reply<Method::RegisterWorker>& reply);
  void run(const Request<Method::RunClosure>& request, Reply<Method::RunClosure>& reply);
  void cancel(const Request<Method::Cancel>& request, Reply<Method::Cancel>& reply);
  // Closures up to this one end before their next step.
  void cancel_up_to(std::uint64_t closure);

 private:
  struct Run;
  struct Finished {
    std::uint64_t closure;
    std::shared_ptr<const proto::ClosureResultProto> metadata;
    Tensors parts;
  };
  // The way to a server of the job, opened when first used.
  struct PsLink {
    std::string address;
    std::unique_ptr<rpc::ReliableStream> stream;
  };
  rpc::ReliableStream& stream_to(int ps);
  std::shared_ptr<Replica> find_replica(const std::string& name, int ps, const TensorSpec& spec);
  WorkerFunction& find_function(std::uint64_t handle) const;
  void begin_closure(WorkerFunction& function, const Tensors& arguments, Run& run);
  void refresh_replicas(WorkerFunction& function, Run& run);
  bool take_elements(WorkerFunction& function, Run& run);
  void run_step(WorkerFunction& function, Run& run);
  void run_exchanges(WorkerFunction& function, std::size_t round, Run& run);
  void stop_if_cancelled(std::uint64_t closure) const;
  Head exchange_head(const Run& run) const;
  static void install(const std::vector<std::shared_ptr<Replica>>& replicas, std::uint64_t version,
                      const Tensor* values);

  ConstantStore& constants_;
  Pipelines& pipelines_;
  const std::uint64_t job_, incarnation_;
  const rpc::TransportOptions options_;
  std::atomic<std::uint64_t> cancelled_up_to_{0};

  std::mutex mutex_;  // guards what follows: one closure at a time
  std::vector<PsLink> ps_links_;
  std::map<std::string, std::shared_ptr<Replica>> replicas_;
  std::unordered_map<std::uint64_t, std::unique_ptr<WorkerFunction>> functions_;
  // The newest results, for a chief that asks again.
  std::deque<Finished> finished_;
};

}  // namespace cohort::distribute
