#include "cohort/datasets/transforms/autotune.h"

#include <algorithm>
#include <mutex>

#include "cohort/core/free_memory.h"

namespace cohort::datasets {
namespace {

constexpr std::uint64_t kShareOfFree = 4;

struct RamBudget {
  std::mutex mutex;
  std::uint64_t limit = 0;  // 0: not looked up yet
  std::uint64_t taken = 0;
};

// Never destroyed: iterators in static storage give back what they took.
RamBudget& ram_budget() {
  static RamBudget* budget = new RamBudget;
  return *budget;
}

// Takes memory for at most `elements`; for how many there was enough.
std::uint64_t take_for(std::uint64_t elements, std::uint64_t element_bytes) {
  RamBudget& budget = ram_budget();
  std::lock_guard lock(budget.mutex);
  if (budget.limit == 0) budget.limit = std::max<std::uint64_t>(free_memory() / kShareOfFree, 1);
  const std::uint64_t left = budget.limit - std::min(budget.limit, budget.taken);
  if (element_bytes > 0) elements = std::min(elements, left / element_bytes);
  budget.taken += elements * element_bytes;
  return elements;
}

}  // namespace

void set_ram_budget(std::uint64_t bytes) {
  RamBudget& budget = ram_budget();
  std::lock_guard lock(budget.mutex);
  budget.limit = bytes;
}

AutotunedWidth::~AutotunedWidth() {
  if (taken_ == 0) return;
  RamBudget& budget = ram_budget();
  std::lock_guard lock(budget.mutex);
  budget.taken -= taken_;
}

bool AutotunedWidth::widen(std::uint64_t element_bytes) {
  const std::size_t wanted = std::min(now_, most_ - now_);
  if (wanted == 0) return false;
  const std::uint64_t more = take_for(wanted, element_bytes);
  taken_ += more * element_bytes;
  now_ += static_cast<std::size_t>(more);
  return more > 0;
}

}  // namespace cohort::datasets
