#include "cohort/optimizers/loss_scale_optimizer.h"
#include "cohort/optimizers/optimizer.h"
#include "tests/golden/checks.h"

namespace cohort::golden {
namespace {}  // namespace

void check_optimizer(Case& checked) {
  const auto optimizer = make_object<Optimizer>(checked);
  const auto excluded = checked.json("exclude_from_weight_decay").get<std::vector<std::string>>();
  if (!excluded.empty()) optimizer->exclude_from_weight_decay({}, excluded);

  Variables variables;
  for (const Tensor& initial : checked.given_all("initial")) {
    const std::string name = checked.text_of(numbered("initial", variables.size()), "name");
    variables.emplace_back(initial, VariableOptions{.name = name});
  }
  std::vector<Tensor> gradients;
  for (const Tensor& steps : checked.given_all("gradients")) gradients.push_back(steps.to_host());
  optimizer->build(variables);

  const std::int64_t steps = checked.integer("steps");
  std::vector<std::vector<double>> after(variables.size());
  std::vector<double> rates, scales;
  for (std::int64_t step = 0; step < steps; ++step) {
    rates.push_back(optimizer->learning_rate());
    if (const auto* scaling = dynamic_cast<const optimizers::LossScalingOptimizer*>(optimizer.get())) {
      scales.push_back(scaling->dynamic_scale());
    }
    Gradients now;
    for (std::size_t i = 0; i < variables.size(); ++i) {
      now.emplace_back(gradients[i].rows(step, 1).view(variables[i].shape()).to(default_device()));
    }
    optimizer->apply(now, variables);
    for (std::size_t i = 0; i < variables.size(); ++i) {
      const std::vector<double> values = read_now(variables[i]).to_vector<double>();
      after[i].insert(after[i].end(), values.begin(), values.end());
    }
  }
  for (std::size_t i = 0; i < variables.size(); ++i) {
    Shape shape{steps};
    for (const std::int64_t size : variables[i].shape()) shape.push_back(size);
    checked.expect(numbered("after", i), after[i], shape);
  }
  checked.expect("learning_rate", rates, {steps});
  if (checked.has("dynamic_scale")) checked.expect("dynamic_scale", scales, {steps});

  std::vector<Tensor> state;
  for (const Variable& variable : optimizer->variables()) {
    const std::string path = numbered("slots", state.size());
    if (checked.has(path)) {
      const std::string name = checked.text_of(path, "name");
      checked.require(variable.name() == name, path + ": is called " + variable.name() + ", expected " + name);
    }
    state.push_back(read_now(variable));
  }
  checked.expect_all("slots", state);
  optimizer->finalize_variable_values(variables);
  std::vector<Tensor> finalized;
  for (const Variable& variable : variables) finalized.push_back(read_now(variable));
  checked.expect_all("finalized", finalized);
}

}  // namespace cohort::golden
