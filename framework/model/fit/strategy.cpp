#include "cohort/model/fit/strategy.h"

#include <utility>

#include "cohort/model/fit/local_runner.h"

namespace cohort {
namespace {

class LocalStrategy : public Strategy {
 public:
  std::unique_ptr<StepRunner> make_runner(std::shared_ptr<Program> program, const RunnerData& data,
                                          const RunnerOptions& options) override {
    return std::make_unique<LocalRunner>(std::move(program), data, options);
  }
};

}  // namespace

Element Strategy::run_on_batch(Program& program, const Element& batch, const RandomState& random) {
  Device& device = default_device();
  Tensors leaves = batch.flatten();
  for (Tensor& leaf : leaves) leaf = leaf.to(device);
  if (program.eager()) return program.run_eagerly(batch.with_leaves(leaves), random);
  const StepGraph& graph = program.step(spec_of(batch));
  leaves.insert(leaves.end(), graph.traced.captures.begin(), graph.traced.captures.end());
  Tensors outputs(graph.traced.graph->outputs.size());
  graph.executables->run(leaves, outputs, random, device);
  return graph.outputs.with_leaves(outputs);
}

void Strategy::run_on_replicas(const std::vector<std::int64_t>&, const std::function<void(int replica)>& code) {
  code(0);
}

StrategyScope::StrategyScope(std::shared_ptr<Strategy> strategy)
    : innermost_(std::move(strategy)),
      variables_(innermost_.value() ? innermost_.value()->variable_creator() : nullptr) {}

std::shared_ptr<Strategy> current_strategy() {
  static const std::shared_ptr<Strategy> local = std::make_shared<LocalStrategy>();
  std::shared_ptr<Strategy> innermost = StrategyScope::Innermost::current();
  return innermost ? innermost : local;
}

}  // namespace cohort
