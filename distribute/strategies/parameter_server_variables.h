#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cohort/distribute/coordinator/remote_variable.h"
#include "cohort/distribute/strategies/partitioners.h"
#include "cohort/variables/variable_creator.h"

namespace cohort::distribute {

// Puts variables on the ps tasks: whole or cut by the partitioner, slots with their variables, an optimizer's counters
// on every ps; metrics stay with the chief, which adds up what workers return. Thread-safe.
class ParameterServerVariables : public VariableCreator {
 public:
  ParameterServerVariables(std::shared_ptr<TaskConnections> connections, Partitioner partitioner, bool round_robin);
  std::shared_ptr<VariableBody> create(const InitialValue& initial, const VariableOptions& options) override;

 private:
  std::shared_ptr<VariableBody> create_on(int ps, const InitialValue& initial, const VariableOptions& options);
  int choose_ps(const InitialValue& initial, const VariableOptions& options);
  std::string next_name(const std::string& name);

  const std::shared_ptr<TaskConnections> connections_;
  const std::shared_ptr<RemoteOwner> owner_;
  const Partitioner partitioner_;
  const bool round_robin_;
  std::mutex mutex_;  // guards what follows
  std::uint64_t made_ = 0;
  int next_ps_ = 0;
  std::vector<std::int64_t> bytes_;
};

}  // namespace cohort::distribute
