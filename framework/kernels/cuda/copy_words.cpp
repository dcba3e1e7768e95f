#include "cohort/kernels/cuda/copy_words.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace cohort::kernels::cuda {

CopyLaunch by_alignment(std::size_t bytes, CopyLaunch wide, CopyLaunch narrow) {
  return [=, wide = std::move(wide), narrow = std::move(narrow)](const void* from, void* to, cudaStream_t stream) {
    const auto places = reinterpret_cast<std::uintptr_t>(from) | reinterpret_cast<std::uintptr_t>(to);
    (places % bytes == 0 ? wide : narrow)(from, to, stream);
  };
}

std::int64_t elements_of_word(const CopyPlan& plan, std::size_t element_bytes) {
  const CopyAxis& inner = plan.innermost();
  if (inner.from != 1 || inner.to != 1) return 1;
  CommonPower common(static_cast<std::int64_t>(kWidestWord / element_bytes));
  common.divides(inner.size).divides(plan.from_offset).divides(plan.to_offset);
  for (int i = 0; i < plan.rank - 1; ++i) {
    const CopyAxis& axis = plan.axes[static_cast<std::size_t>(i)];
    common.divides(axis.from).divides(axis.to);
  }
  return common.power();
}

CopyPlan in_words(CopyPlan plan, std::int64_t elements) {
  if (elements == 1) return plan;
  for (int i = 0; i < plan.rank - 1; ++i) {
    CopyAxis& axis = plan.axes[static_cast<std::size_t>(i)];
    axis.from /= elements;
    axis.to /= elements;
  }
  CopyAxis& inner = plan.axes[static_cast<std::size_t>(plan.rank - 1)];
  inner.size /= elements;
  plan.total /= elements;
  plan.from_offset /= elements;
  plan.to_offset /= elements;
  if (inner.size == 1 && plan.rank > 1) --plan.rank;
  return plan;
}

bool is_narrow(const CopyPlan& plan) {
  std::int64_t from = plan.from_offset, to = plan.to_offset;
  for (int i = 0; i < plan.rank; ++i) {
    const CopyAxis& axis = plan.axes[static_cast<std::size_t>(i)];
    from += std::abs(axis.from) * (axis.size - 1);
    to += std::abs(axis.to) * (axis.size - 1);
  }
  return std::max({plan.total, from, to}) <= kLargestNarrow;
}

}  // namespace cohort::kernels::cuda
