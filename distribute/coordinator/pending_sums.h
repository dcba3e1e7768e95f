#pragma once

#include <mutex>
#include <utility>
#include <vector>

#include "cohort/variables/variable.h"

namespace cohort::distribute {

// What accepted results add to the chief's own variables (metrics): collected by the coordinator's threads, in one sum
// for each variable, and added by the user's thread, so that whoever reads a metric never meets a write. Thread-safe.
class PendingSums {
 public:
  void collect(const std::vector<Variable>& variables, const Tensors& added);
  void apply();

 private:
  using Sum = std::pair<Variable, Tensor>;
  Sum& sum_of(const Variable& variable, std::size_t likely_place);

  std::mutex mutex_;
  std::vector<Sum> pending_;   // guarded by mutex_; each variable once
  std::mutex applying_mutex_;  // several of the user's threads may come at once
  std::vector<Sum> applying_;  // guarded by applying_mutex_
};

}  // namespace cohort::distribute
