#include "cohort/distribute/coordinator/pending_sums.h"

#include <algorithm>

#include "cohort/graph/trace.h"
#include "cohort/ops/math.h"

namespace cohort::distribute {

// Results of one function bring their sums in one order.
PendingSums::Sum& PendingSums::sum_of(const Variable& variable, std::size_t likely_place) {
  if (likely_place < pending_.size() && pending_[likely_place].first == variable) return pending_[likely_place];
  const auto found =
      std::find_if(pending_.begin(), pending_.end(), [&](const Sum& sum) { return sum.first == variable; });
  if (found != pending_.end()) return *found;
  return pending_.emplace_back(variable, Tensor());
}

void PendingSums::collect(const std::vector<Variable>& variables, const Tensors& added) {
  if (variables.size() != added.size()) {
    throw internal_error("ClusterCoordinator", "a result must hold a sum for each accumulating variable",
                         {{"sums", added.size()}, {"variables", variables.size()}});
  }
  if (added.empty()) return;
  EagerScope eager;
  std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < added.size(); ++i) {
    Tensor& sum = sum_of(variables[i], i).second;
    sum = sum.defined() ? sum + added[i] : added[i];
  }
}

void PendingSums::apply() {
  std::lock_guard one_at_a_time(applying_mutex_);
  {
    std::lock_guard lock(mutex_);
    applying_.swap(pending_);
  }
  EagerScope eager;
  for (auto& [variable, sum] : applying_) variable.assign_add(sum.to(default_device()));
  applying_.clear();
}

}  // namespace cohort::distribute
