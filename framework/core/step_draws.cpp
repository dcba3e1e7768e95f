#include "cohort/core/step_draws.h"

#include "cohort/core/dispatch.h"
#include "cohort/core/random.h"

namespace cohort {
namespace {

// Apart from what the process counts.
constexpr std::uint64_t kInAStep = std::uint64_t{1} << 63;

}  // namespace

// What is traced is kept for other steps.
std::uint64_t* StepDraws::current() {
  return current_trace() == 0 ? ThreadScope<StepDraws, std::uint64_t*>::current() : nullptr;
}

std::uint64_t next_call(std::atomic<std::uint64_t>& calls) {
  if (std::uint64_t* const of_step = StepDraws::current()) return kInAStep + (*of_step)++;
  return calls.fetch_add(1);
}

std::uint64_t next_draw_seed() {
  if (std::uint64_t* const of_step = StepDraws::current()) return hash_combine(global_seed(), kInAStep + (*of_step)++);
  return next_op_seed();
}

}  // namespace cohort
