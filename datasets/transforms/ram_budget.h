#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

#include "cohort/core/thread_scope.h"

namespace cohort::datasets {

// Memory that elements in store may take, shared by stages whose number of elements the framework chooses. Thread-safe.
class RamBudget {
 public:
  //   bytes: 0: a quarter of what is free when it is first needed.
  explicit RamBudget(std::uint64_t bytes = 0) : limit_(bytes) {}

  // What may be taken from now on; what is taken stays so.
  void set_limit(std::uint64_t bytes);
  // Takes memory for at most `elements`; for how many there was enough.
  std::uint64_t take_for(std::uint64_t elements, std::uint64_t element_bytes);
  void give_back(std::uint64_t bytes);

 private:
  std::mutex mutex_;  // guards what follows
  std::uint64_t limit_;
  std::uint64_t taken_ = 0;
};

// While it lives, stages that this thread makes take their memory from this budget, as long as they live.
using RamBudgetScope = ThreadScope<RamBudget, std::shared_ptr<RamBudget>>;
// That of this thread's scope, or else the process's.
std::shared_ptr<RamBudget> ram_budget_in_force();

}  // namespace cohort::datasets
