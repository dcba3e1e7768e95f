#include "cohort/distribute/strategies/in_step_strategy.h"

#include "cohort/distribute/strategies/in_step_runner.h"

namespace cohort::distribute {
namespace {

class OneDevice : public Strategy {
 public:
  explicit OneDevice(Device& device) : device_(device), variables_(device) {}
  std::unique_ptr<StepRunner> make_runner(std::shared_ptr<Program> program, const RunnerData& data,
                                          const RunnerOptions& options) override {
    return std::make_unique<LocalRunner>(std::move(program), data, options, device_);
  }
  Element run_on_batch(Program& program, const Element& batch, const RandomState& random) override {
    const DefaultDeviceScope scope(&device_);
    return Strategy::run_on_batch(program, batch, random);
  }
  VariableCreator* variable_creator() override { return &variables_; }

 private:
  Device& device_;
  VariablesOnDevice variables_;
};

}  // namespace

InStepStrategy::InStepStrategy(std::shared_ptr<ReplicaSet> replicas)
    : variables_(replicas->home()), replicas_(std::move(replicas)) {}

std::unique_ptr<StepRunner> InStepStrategy::make_runner(std::shared_ptr<Program> program, const RunnerData& data,
                                                        const RunnerOptions& options) {
  return std::make_unique<InStepRunner>(replicas_, std::move(program), data, options);
}

Element InStepStrategy::run_on_batch(Program& program, const Element& batch, const RandomState& random) {
  ReplicaSteps steps(replicas_, program.shared_from_this());
  steps.divide(batch.flatten());
  Element outputs = steps.run(spec_of(batch), random);
  replicas_->variables().gather();
  return outputs;
}

void InStepStrategy::run_on_replicas(const std::vector<std::int64_t>& rows,
                                     const std::function<void(int replica)>& code) {
  replicas_->run_code(rows, code);
  replicas_->variables().gather();
}

std::shared_ptr<Strategy> one_device_strategy(Device& device) { return std::make_shared<OneDevice>(device); }

}  // namespace cohort::distribute
