#include "cohort/distribute/coordinator/pending_sums.h"

#include "cohort/graph/trace.h"

namespace cohort::distribute {

void PendingSums::collect(const std::vector<Variable>& variables, const Tensors& added) {
  if (variables.size() != added.size()) {
    throw internal_error("ClusterCoordinator", "a result must hold a sum for each accumulating variable",
                         {{"sums", added.size()}, {"variables", variables.size()}});
  }
  std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < added.size(); ++i) pending_.emplace_back(variables[i], added[i]);
}

void PendingSums::apply() {
  std::lock_guard one_at_a_time(applying_mutex_);
  {
    std::lock_guard lock(mutex_);
    applying_.swap(pending_);
  }
  EagerScope eager;
  for (auto& [variable, added] : applying_) variable.assign_add(added.to(default_device()));
  applying_.clear();
}

}  // namespace cohort::distribute
