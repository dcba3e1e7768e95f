#include "cohort/distribute/worker/memory_budget.h"

#include <algorithm>

#include "cohort/core/free_memory.h"

namespace cohort::distribute {
namespace {

Error beyond_limit(const std::string& variable, std::uint64_t bytes, std::uint64_t free, const char* limit) {
  return Error(ErrorCode::ResourceExhausted, "Server", "there must be memory for a variable",
               {{"variable", variable}, {"bytes", bytes}, {"free", free}, {"limit", limit}},
               "Use more parameter servers, or a partitioner that cuts large variables into shards.");
}

}  // namespace

// Before anything is allocated: where memory is promised beyond what there is, taking it ends the process.
std::shared_ptr<void> MemoryBudget::reserve(const std::string& variable, std::uint64_t bytes, bool on_host) {
  constexpr std::uint64_t kWorthAsking = 1 << 20;
  if (on_host && bytes >= kWorthAsking) {
    if (bytes > free_memory()) throw no_memory_for(variable, bytes);
  }
  take(variable, bytes);
  return std::shared_ptr<void>(nullptr, [budget = shared_from_this(), bytes](void*) { budget->give_back(bytes); });
}

void MemoryBudget::take(const std::string& variable, std::uint64_t bytes) {
  if (whole_) whole_->take(variable, bytes);
  std::uint64_t used = used_.load();
  do {
    const std::uint64_t free = limit_ - std::min(limit_, used);
    if (limit_ == 0 || bytes <= free) continue;
    if (whole_) whole_->give_back(bytes);
    throw beyond_limit(variable, bytes, free, option_);
  } while (!used_.compare_exchange_weak(used, used + bytes));
}

void MemoryBudget::give_back(std::uint64_t bytes) {
  used_ -= bytes;
  if (whole_) whole_->give_back(bytes);
}

Error no_memory_for(const std::string& variable, std::uint64_t bytes) {
  return beyond_limit(variable, bytes, free_memory(), "machine");
}

std::uint64_t bytes_of_variable(const std::string& name, const TensorSpec& spec) {
  std::uint64_t bytes = size_of(spec.dtype);
  bool fits = is_plain(spec.dtype) && spec.shape.fully_known();
  for (int axis = 0; fits && axis < spec.shape.rank(); ++axis) {
    fits = !__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(spec.shape[axis]), &bytes);
  }
  if (!fits) {
    throw invalid_argument("Server", "a variable has numbers and a known shape", {{"variable", name}, {"spec", spec}});
  }
  return bytes;
}

}  // namespace cohort::distribute
