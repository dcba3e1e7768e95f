#include "cohort/datasets/transforms/ram_budget.h"

#include <algorithm>

#include "cohort/core/free_memory.h"
#include "cohort/datasets/transforms/autotune.h"

namespace cohort::datasets {
namespace {

constexpr std::uint64_t kShareOfFree = 4;

// Never destroyed: iterators in static storage give back what they took.
const std::shared_ptr<RamBudget>& budget_of_process() {
  static const auto* budget = new std::shared_ptr<RamBudget>(std::make_shared<RamBudget>());
  return *budget;
}

}  // namespace

void RamBudget::set_limit(std::uint64_t bytes) {
  std::lock_guard lock(mutex_);
  limit_ = bytes;
}

std::uint64_t RamBudget::take_for(std::uint64_t elements, std::uint64_t element_bytes) {
  std::lock_guard lock(mutex_);
  if (limit_ == 0) limit_ = std::max<std::uint64_t>(free_memory() / kShareOfFree, 1);
  const std::uint64_t left = limit_ - std::min(limit_, taken_);
  if (element_bytes > 0) elements = std::min(elements, left / element_bytes);
  taken_ += elements * element_bytes;
  return elements;
}

void RamBudget::give_back(std::uint64_t bytes) {
  std::lock_guard lock(mutex_);
  taken_ -= bytes;
}

std::shared_ptr<RamBudget> ram_budget_in_force() {
  const RamBudgetScope* scope = RamBudgetScope::innermost();
  return scope ? scope->value() : budget_of_process();
}

void set_ram_budget(std::uint64_t bytes) { budget_of_process()->set_limit(bytes); }

}  // namespace cohort::datasets
