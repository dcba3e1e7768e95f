#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cohort/distribute/strategies/replica_set.h"
#include "cohort/distribute/strategies/variables_on_device.h"
#include "cohort/model/fit/strategy.h"

namespace cohort::distribute {

// Trains on replicas of this process in step.
class InStepStrategy : public Strategy {
 public:
  explicit InStepStrategy(std::shared_ptr<ReplicaSet> replicas);

  std::unique_ptr<StepRunner> make_runner(std::shared_ptr<Program> program, const RunnerData& data,
                                          const RunnerOptions& options) override;
  Element run_on_batch(Program& program, const Element& batch, const RandomState& random) override;
  int num_replicas_in_sync() const override { return replicas_->size(); }
  int num_local_replicas() const override { return replicas_->size(); }
  void run_on_replicas(const std::vector<std::int64_t>& rows, const std::function<void(int replica)>& code) override;
  const ReplicaContext* replica_context() const override { return &replicas_->context(0); }
  VariableCreator* variable_creator() override { return &variables_; }

 private:
  VariablesOnDevice variables_;
  const std::shared_ptr<ReplicaSet> replicas_;
};

// The strategy of a program that trains on this device alone.
std::shared_ptr<Strategy> one_device_strategy(Device& device);

}  // namespace cohort::distribute
