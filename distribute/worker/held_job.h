#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cohort/distribute/protocol/trace_log.h"
#include "cohort/distribute/worker/closure_runner.h"
#include "cohort/distribute/worker/parameter_server.h"
#include "cohort/distribute/worker/task_counters.h"
#include "cohort/distribute/worker/task_limits.h"

namespace cohort::distribute {

// All that a task holds for one chief. Thread-safe.
struct HeldJob {
  // What the task brings.
  struct Surroundings {
    std::uint64_t incarnation = 0;
    std::vector<std::string> ps_addresses;
    PsLinkOptions ps_links;
    const TaskLimits& limits;
    const std::vector<Device*>& devices;
    std::shared_ptr<MemoryBudget> memory;  // of all jobs
  };
  HeldJob(std::uint64_t id, const proto::HelloProto& hello, const Surroundings& task);

  // Lets go of what the chief has let go of.
  void release(const Request<Method::Release>& request);
  // Adds what it is and has done so far. Never waits.
  void describe(proto::TaskStatusProto& status) const;

  const std::uint64_t id;
  const std::string name, key;
  const std::shared_ptr<MemoryBudget> memory;
  ConstantStore constants;
  Pipelines pipelines;
  ParameterServer parameter_server;
  ClosureRunner closures;
  RequestCounters requests;
  TraceLog trace_log;
  std::atomic<std::uint64_t> recoveries{0};

 private:
  std::mutex release_mutex_;        // guards what follows
  std::uint64_t generation_ = 0;    // of what the chief has told this task
  std::uint64_t last_release_ = 0;  // of those that are counted
};

}  // namespace cohort::distribute
