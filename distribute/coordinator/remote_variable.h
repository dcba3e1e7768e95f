#pragma once

#include <memory>
#include <string>

#include "cohort/core/dispatch.h"
#include "cohort/distribute/coordinator/task_connections.h"
#include "cohort/variables/variable_body.h"

namespace cohort::distribute {

// Runs what the chief does with variables of a cluster on the ps where they lie. Thread-safe.
class RemoteOwner : public ResourceOwner {
 public:
  explicit RemoteOwner(std::shared_ptr<TaskConnections> connections) : connections_(std::move(connections)) {}
  Tensors run(const OpDef& op, const Tensors& inputs, const Attributes& attributes, const RandomState& random) override;
  const TaskConnections& connections() const { return *connections_; }

 private:
  std::shared_ptr<TaskConnections> connections_;
};

// A variable that lies on a ps, or on every ps as a copy of its own, until nobody names it any more.
class RemoteVariable : public VariableBody {
 public:
  static constexpr int kEveryPs = TaskConnections::kEveryPs;

  // `name` is the variable's name in the cluster.
  RemoteVariable(std::shared_ptr<RemoteOwner> owner, std::string name, int ps, const TensorSpec& spec,
                 const VariableOptions& options);
  ~RemoteVariable() override;

  const std::string& remote_name() const { return remote_name_; }
  int ps() const { return ps_; }
  ResourceOwner* owner() override { return owner_.get(); }

 private:
  const std::shared_ptr<RemoteOwner> owner_;
  const std::string remote_name_;
  const int ps_;
};

}  // namespace cohort::distribute
