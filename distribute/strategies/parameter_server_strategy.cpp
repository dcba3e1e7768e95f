#include "cohort/distribute/strategies/parameter_server_strategy.h"

#include <fstream>

#include "cohort/core/dispatch.h"
#include "cohort/distribute/cluster/job_name.h"
#include "cohort/distribute/cluster/roles.h"
#include "cohort/distribute/cluster/security.h"
#include "cohort/distribute/cluster/transport_choice.h"
#include "cohort/distribute/strategies/parameter_server_runner.h"
#include "cohort/distribute/strategies/parameter_server_variables.h"
#include "cohort/files/atomic_file.h"

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
  int num_replicas_in_sync() const override { return runtime_->replicas_per_worker(); }
  const ReplicaContext* replica_context() const override {
    return runtime_->replicas() ? &runtime_->replicas()->context() : nullptr;
  }
  bool mirrors_variables() const override { return false; }
  // In a trace, which is made once for all replicas.
  void run_on_replicas(const std::vector<std::int64_t>& rows, const std::function<void(int replica)>& code) override {
    if (!runtime_->replicas()) return Strategy::run_on_replicas(rows, code);
    if (current_trace() == 0) {
      throw failed_precondition("ParameterServerStrategy.run", "workers' devices run code inside of functions only",
                                {{"devices of a worker", num_replicas_in_sync()}},
                                "Call it in a function that ClusterCoordinator::schedule() is given.");
    }
    const ReplicaScope replica(replica_context());
    code(0);
  }
  VariableCreator* variable_creator() override { return &variables_; }

 private:
  std::shared_ptr<ClusterRuntime> runtime_;
  ParameterServerVariables variables_;
};

// Of the file, which is made where there is none.
std::string job_key_of(const std::string& file) {
  constexpr std::size_t kLongest = 200;
  std::string key;
  if (std::ifstream in(file); in && std::getline(in, key)) {
    if (!key.empty() && key.size() <= kLongest) return key;
    throw invalid_argument("ParameterServerStrategy", "a job_key_file holds one line of at most 200 characters",
                           {{"job_key_file", file}, {"characters", key.size()}}, "Remove it to have one made.");
  }
  key = std::to_string(new_identity()) + std::to_string(new_identity());
  AtomicFile out(file);
  out.append(key + "\n");
  out.commit();
  return key;
}

std::chrono::milliseconds milliseconds_of(const std::string& name, double seconds) {
  constexpr double kLongest = 1e6;
  if (!(seconds >= 0.001 && seconds <= kLongest)) {
    throw invalid_argument("ParameterServerStrategy", "a " + name + " above 0, and of at most 1e6 seconds, is expected",
                           {{name, seconds}});
  }
  return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000.0));
}

std::shared_ptr<ClusterRuntime> reach_cluster(const ClusterResolver& resolver,
                                              const ParameterServerStrategyOptions& options) {
  if (options.placement != "bytes" && options.placement != "round_robin") {
    throw invalid_argument("ParameterServerStrategy", "the placement 'bytes' or 'round_robin' is expected",
                           {{"placement", options.placement}});
  }
  check_transport("ParameterServerStrategy", options.transport);
  if (options.max_staleness && *options.max_staleness < 0) {
    throw invalid_argument("ParameterServerStrategy", "a max_staleness of 0 or more is expected",
                           {{"max_staleness", *options.max_staleness}});
  }
  const auto start_timeout = milliseconds_of("start_timeout", options.start_timeout);
  const auto dead_after = milliseconds_of("dead_after", options.dead_after);
  const auto ps_retry = milliseconds_of("ps_retry", options.ps_retry);
  const auto ps_lost_after = milliseconds_of("ps_lost_after", options.ps_lost_after);
  const auto stuck_after = milliseconds_of("stuck_after", options.stuck_after);
  const auto worker_timeout = milliseconds_of("worker_timeout", options.worker_timeout);
  const ClusterSpec spec = resolver.cluster_spec();
  check_parameter_server_cluster(spec, "ParameterServerStrategy", options.workers_may_join ? 0 : 1);
  if (options.input_pipelines < 0 || (options.input_pipelines > 0 && !options.workers_may_join)) {
    throw invalid_argument("ParameterServerStrategy", "input_pipelines of 0 or more, and with workers_may_join only",
                           {{"input_pipelines", options.input_pipelines}},
                           "Elsewhere DatasetCreator's InputOptions say it.");
  }
  if (resolver.task_type() == kPs) {
    throw failed_precondition("ParameterServerStrategy", "the chief makes the strategy",
                              {{"task_type", resolver.task_type()}}, "Let a ps serve with Server(resolver).join().");
  }
  ClusterRuntimeOptions runtime;
  runtime.connections.start_timeout = start_timeout;
  runtime.connections.ps_retry = ps_retry;
  runtime.connections.job_name = job_name_or_environment(options.job_name);
  if (!options.job_key_file.empty()) runtime.connections.job_key = job_key_of(options.job_key_file);
  runtime.connections.take_over = options.take_over;
  runtime.connections.ps_lost_after = ps_lost_after;
  runtime.connections.transport.set_dead_after(dead_after);
  runtime.connections.workers_may_join = options.workers_may_join;
  runtime.input_pipelines = options.input_pipelines;
  runtime.dispatch.worker_timeout = worker_timeout;
  runtime.dispatch.stuck.stuck_after = stuck_after;
  runtime.connections.transport.transport = options.transport;
  const bool named = !resolver.task_type().empty();
  runtime.connections.transport.security = make_security(
      options.security, named ? task_name(resolver.task_type(), resolver.task_id()) : task_name(kChief, 0));
  if (options.max_staleness) runtime.connections.max_staleness = static_cast<std::uint64_t>(*options.max_staleness);
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
