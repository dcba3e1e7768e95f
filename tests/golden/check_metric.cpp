#include "cohort/metrics/metric.h"
#include "tests/golden/checks.h"

namespace cohort::golden {

void check_metric(Case& checked) {
  const auto metric = make_object<Metric>(checked);
  const bool of_values = checked.text("kind") == "values";
  for (int b = 0; b < checked.integer("batches"); ++b) {
    const std::string batch = "batches/" + std::to_string(b) + "/";
    const Tensor weight = checked.has(batch + "sample_weight") ? checked.given(batch + "sample_weight") : Tensor();
    if (of_values) {
      metric->update_state(checked.given(batch + "values"), Tensor(), weight);
    } else {
      metric->update_state(checked.given(batch + "y_true"), checked.given(batch + "y_pred"), weight);
    }
    checked.expect("results/" + std::to_string(b), metric->result());
  }
  std::vector<Tensor> state;
  for (const Variable& variable : metric->variables()) {
    const std::string path = "variables/" + std::to_string(state.size());
    if (checked.has(path)) {
      const std::string name = checked.text_of(path, "name");
      checked.require(variable.name() == name, path + ": is called " + variable.name() + ", expected " + name);
    }
    state.push_back(read_now(variable));
  }
  checked.expect_all("variables", state);
  if (checked.has("result_after_reset")) {
    metric->reset_state();
    checked.expect("result_after_reset", metric->result());
  }
}

}  // namespace cohort::golden
