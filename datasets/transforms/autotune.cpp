#include "cohort/datasets/transforms/autotune.h"

#include <algorithm>

#include "cohort/datasets/transforms/ram_budget.h"

namespace cohort::datasets {

AutotunedWidth::AutotunedWidth(std::size_t first, std::size_t most)
    : budget_(ram_budget_in_force()), now_(first), most_(most) {}

AutotunedWidth::~AutotunedWidth() {
  if (taken_ > 0) budget_->give_back(taken_);
}

bool AutotunedWidth::widen(std::uint64_t element_bytes) {
  const std::size_t wanted = std::min(now_, most_ - now_);
  if (wanted == 0) return false;
  const std::uint64_t more = budget_->take_for(wanted, element_bytes);
  taken_ += more * element_bytes;
  now_ += static_cast<std::size_t>(more);
  return more > 0;
}

}  // namespace cohort::datasets
