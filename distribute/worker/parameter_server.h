#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "cohort/distribute/protocol/methods.h"
#include "cohort/distribute/worker/applied_bundles.h"
#include "cohort/distribute/worker/constant_store.h"
#include "cohort/distribute/worker/memory_budget.h"
#include "cohort/distribute/worker/server_function.h"
#include "cohort/distribute/worker/task_counters.h"

namespace cohort::distribute {

// The variables of a job that lie on this task, and what is done to them. Thread-safe: bundles that use different
// variables are applied at once, others one after the other; a bundle is applied whole and a reply shows whole bundles.
class ParameterServer {
 public:
  // Variables take at most `memory_limit` bytes (0: what the machine has), which are part of `whole`.
  explicit ParameterServer(ConstantStore& constants, std::uint64_t memory_limit = 0,
                           std::shared_ptr<MemoryBudget> whole = nullptr)
      : constants_(constants),
        memory_(std::make_shared<MemoryBudget>(memory_limit, "memory_limit", std::move(whole))) {}

  // Makes a variable by its initial graph; one that is there already is kept, one that there is no memory for refused.
  void create_variable(const Request<Method::CreateVariable>& request, Reply<Method::CreateVariable>& reply);
  void register_function(const Request<Method::RegisterServer>& request, Reply<Method::RegisterServer>& reply);
  // Runs a small graph for the chief.
  void run_graph(const Request<Method::RunGraph>& request, Reply<Method::RunGraph>& reply);
  // Exchanges of earlier epochs are refused from now on, and none is being applied any more.
  void fence(const Request<Method::Fence>& request, Reply<Method::Fence>& reply);
  // Applies what a worker pushes, once, and answers with what it reads; or only answers (a pull). Of variables that
  // workers have replicas of it sends what was written after the version that comes with the request.
  void exchange(const Request<Method::Exchange>& request, Reply<Method::Exchange>& reply);
  // Lets go of functions, and of variables once no function uses them.
  void release(const proto::ReleaseProto& releases);
  // Adds what it holds and has done so far. Never waits.
  void describe(proto::TaskStatusProto& status) const;

 private:
  using Lock = std::unique_lock<std::mutex>;
  // With the lock:
  std::shared_ptr<StoredVariable> find_variable(const std::string& name) const;
  template <class Names>
  StoredVariables find_variables(const Names& names) const;
  std::shared_ptr<ServerFunction> find_function(std::uint64_t handle) const;
  bool is_known(const std::string& name, const TensorSpec& spec) const;

  void check_epoch(const Head& head) const;
  void has_applied(const Head& head);
  void pull(const SentVariables& pulled, const Request<Method::Exchange>& request, Reply<Method::Exchange>& reply,
            Lock& lock);
  void push(ServerPart& part, const Request<Method::Exchange>& request, Reply<Method::Exchange>& reply, Lock& lock);

  ConstantStore& constants_;
  // Of all variables: those that are being made, and those that only functions have, included.
  const std::shared_ptr<MemoryBudget> memory_;
  TaskCounter apply_nanoseconds_, bundles_;  // written under the mutex
  std::mutex mutex_;  // guards what follows, and the lines of reservations; held while small bundles are applied, but
                      // not large ones
  std::unordered_map<std::string, std::shared_ptr<StoredVariable>> variables_;
  std::unordered_map<std::uint64_t, std::shared_ptr<ServerFunction>> functions_;
  AppliedBundles applied_;
  std::vector<std::uint64_t> applying_;  // epochs of pushes whose graphs run
  std::condition_variable applied_one_;  // one of them has ended
  std::uint64_t fenced_ = 0;             // the oldest epoch that may still write
  std::uint64_t last_run_ = 0;           // the newest of the chief's own writes
  std::uint64_t version_ = 1;            // grows with every bundle of writes
};

}  // namespace cohort::distribute
