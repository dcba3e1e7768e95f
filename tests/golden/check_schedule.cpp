#include "cohort/optimizers/optimizer.h"
#include "tests/golden/checks.h"

namespace cohort::golden {

void check_schedule(Case& checked) {
  const auto schedule = make_object<LearningRateSchedule>(checked);
  std::vector<double> rates;
  for (const std::int64_t step : checked.given("steps").to_vector<std::int64_t>()) {
    rates.push_back((*schedule)(Tensor::of<std::int64_t>({step}, {})).item<double>());
  }
  checked.expect("values", rates, {static_cast<std::int64_t>(rates.size())});
}

}  // namespace cohort::golden
