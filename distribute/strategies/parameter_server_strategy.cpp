#include "cohort/distribute/strategies/parameter_server_strategy.h"

#include "cohort/distribute/cluster/roles.h"
#include "cohort/distribute/strategies/parameter_server_runner.h"
#include "cohort/distribute/strategies/parameter_server_variables.h"

namespace cohort::distribute {
namespace {

class ParameterServerBody : public Strategy {
 public:
  ParameterServerBody(std::shared_ptr<ClusterRuntime> runtime, const ParameterServerStrategyOptions& options)
      : runtime_(std::move(runtime)),
        variables_(runtime_->connections(), options.variable_partitioner, options.placement == "round_robin") {}

  std::unique_ptr<StepRunner> make_runner(std::shared_ptr<Program> program, const RunnerData& data,
                                          const RunnerOptions& options) override {
    return std::make_unique<ParameterServerRunner>(runtime_, std::move(program), data, options);
  }
  VariableCreator* variable_creator() override { return &variables_; }

 private:
  std::shared_ptr<ClusterRuntime> runtime_;
  ParameterServerVariables variables_;
};

std::shared_ptr<ClusterRuntime> reach_cluster(const ClusterResolver& resolver,
                                              const ParameterServerStrategyOptions& options) {
  if (options.placement != "bytes" && options.placement != "round_robin") {
    throw invalid_argument("ParameterServerStrategy", "the placement 'bytes' or 'round_robin' is expected",
                           {{"placement", options.placement}});
  }
  if (options.transport != "auto" && options.transport != "grpc") {
    throw invalid_argument("ParameterServerStrategy", "the transport 'auto' or 'grpc' is expected",
                           {{"transport", options.transport}});
  }
  if (!(options.start_timeout > 0.0)) {
    throw invalid_argument("ParameterServerStrategy", "a start_timeout above 0 is expected",
                           {{"start_timeout", options.start_timeout}});
  }
  const ClusterSpec spec = resolver.cluster_spec();
  check_parameter_server_cluster(spec, "ParameterServerStrategy");
  if (resolver.task_type() == kPs) {
    throw failed_precondition("ParameterServerStrategy", "the chief makes the strategy",
                              {{"task_type", resolver.task_type()}}, "Let a ps serve with Server(resolver).join().");
  }
  ClusterRuntimeOptions runtime;
  runtime.connections.start_timeout =
      std::chrono::milliseconds(static_cast<std::int64_t>(options.start_timeout * 1000.0));
  runtime.connections.transport.transport = options.transport;
  return std::make_shared<ClusterRuntime>(spec, runtime);
}

}  // namespace

ParameterServerStrategy::ParameterServerStrategy(const ClusterResolver& resolver,
                                                 ParameterServerStrategyOptions options)
    : ParameterServerStrategy(reach_cluster(resolver, options), options) {}

ParameterServerStrategy::ParameterServerStrategy(std::shared_ptr<ClusterRuntime> runtime,
                                                 ParameterServerStrategyOptions options)
    : StrategyHandle(std::make_shared<ParameterServerBody>(runtime, options)), runtime_(std::move(runtime)) {}

}  // namespace cohort::distribute
