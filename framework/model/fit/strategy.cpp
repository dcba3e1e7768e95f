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

StrategyScope::StrategyScope(std::shared_ptr<Strategy> strategy)
    : innermost_(std::move(strategy)),
      variables_(innermost_.value() ? innermost_.value()->variable_creator() : nullptr) {}

std::shared_ptr<Strategy> current_strategy() {
  static const std::shared_ptr<Strategy> local = std::make_shared<LocalStrategy>();
  std::shared_ptr<Strategy> innermost = StrategyScope::Innermost::current();
  return innermost ? innermost : local;
}

}  // namespace cohort
