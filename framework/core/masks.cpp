#include "cohort/core/masks.h"

#include <vector>

namespace cohort {
namespace {

struct Entry {
  Tensor tensor, mask;  // holding the tensor keeps its identity from being used again
};

thread_local int open_scopes = 0;
thread_local std::vector<Entry> entries;

}  // namespace

MaskScope::MaskScope() { ++open_scopes; }
MaskScope::~MaskScope() {
  if (--open_scopes == 0) entries.clear();
}

void set_mask(const Tensor& tensor, const Tensor& mask) {
  if (open_scopes > 0) entries.push_back({tensor, mask});
}

Tensor mask_of(const Tensor& tensor) {
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
    if (entry->tensor.same_as(tensor)) return entry->mask;
  }
  return {};
}

}  // namespace cohort
