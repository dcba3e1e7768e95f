#include "cohort/core/masks.h"

#include <vector>

namespace cohort {
namespace {

struct MaskEntry {
  Tensor tensor, mask;  // holding the tensor keeps its identity from being used again
};

// Of all scopes of the thread, so that it keeps its memory.
thread_local std::vector<MaskEntry> mask_entries;

}  // namespace

MaskScope::MaskScope() : first_(First::innermost() ? First::innermost()->value() : mask_entries.size()) {}
MaskScope::~MaskScope() {
  first_.end();
  if (First::innermost()) return;
  mask_entries.erase(mask_entries.begin() + static_cast<std::ptrdiff_t>(first_.value()), mask_entries.end());
}

void set_mask(const Tensor& tensor, const Tensor& mask) {
  if (MaskScope::First::innermost()) mask_entries.push_back({tensor, mask});
}

Tensor mask_of(const Tensor& tensor) {
  const MaskScope::First* scope = MaskScope::First::innermost();
  if (!scope) return {};
  for (std::size_t i = mask_entries.size(); i-- > scope->value();) {
    if (mask_entries[i].tensor.same_as(tensor)) return mask_entries[i].mask;
  }
  return {};
}

}  // namespace cohort
