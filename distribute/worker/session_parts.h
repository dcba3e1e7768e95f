#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "cohort/distribute/protocol/methods.h"
#include "cohort/distribute/worker/memory_budget.h"
#include "cohort/distribute/worker/stored_variable.h"
#include "cohort/graph/executable.h"

namespace cohort::proto {
class PartVariableProto;
}

namespace cohort::distribute {

// What sessions have on this task, whichever task is their master: variables in containers, and the parts of their
// graphs that run here. Parts that use different variables run at once, others one after the other. Thread-safe.
class SessionParts {
 public:
  // Variables and constants take of `memory`.
  SessionParts(std::string task, std::shared_ptr<MemoryBudget> memory);

  void list_devices(const Request<Method::ListDevices>& request, Reply<Method::ListDevices>& reply);
  // Makes the variables that are not there. The head's incarnation is the master's.
  void register_part(const Request<Method::RegisterPart>& request, Reply<Method::RegisterPart>& reply);
  // When it throws, no variable has changed.
  void run_part(const Request<Method::RunPart>& request, Reply<Method::RunPart>& reply);
  void release_parts(const Request<Method::ReleaseParts>& request, Reply<Method::ReleaseParts>& reply);

  // Lets go of all that a session has here, the variables that others share aside.
  void forget_session(std::uint64_t session);
  // The same for all sessions of a master, and whether there are any.
  void forget_master(std::uint64_t master);
  bool knows_master(std::uint64_t master) const;
  MemoryBudget& memory() { return *memory_; }

 private:
  struct Part;
  struct Session {
    std::uint64_t master = 0;
    std::map<std::uint64_t, std::shared_ptr<Part>> parts = {};  // by handle
  };
  using Key = std::tuple<std::uint64_t, std::string, std::string>;  // session (0: shared), container, name
  std::shared_ptr<StoredVariable> find_or_make(const Key& key, const proto::PartVariableProto& from, Device& device,
                                               const ConstantTable& constants);

  const std::string task_;
  const std::shared_ptr<MemoryBudget> memory_;
  mutable std::mutex mutex_;  // guards what follows, and the lines of reservations
  std::map<Key, std::shared_ptr<StoredVariable>> variables_;
  std::map<std::uint64_t, Session> sessions_;
};

}  // namespace cohort::distribute
