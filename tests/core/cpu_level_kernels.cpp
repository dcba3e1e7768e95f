// Compiled twice: with the other tests, and as the level `twin`, of which nothing may run before it is taken.
#include "tests/core/cpu_level_kernels.h"

#include <vector>

#include "cohort/core/kernel.h"

namespace cohort::test {
namespace {

#ifdef COHORT_CPU_LEVEL
constexpr float kLevel = 1;
#else
constexpr float kLevel = 0;
#endif

std::vector<float> made_at_start(3, kLevel);
[[maybe_unused]] const bool counted = (++(kLevel > 0 ? twin_starts : baseline_starts), true);

// Which level the kernel is of, its objects and what it shares with other sources: all must be the same.
KernelFn make_level(const KernelSpec& spec) {
  if (kLevel > 0 && spec.input(0).dtype != DType::Float32) return {};
  return [count = spec.input_size(0)](const KernelIO& io) {
    io.out<float>(0)[0] = kLevel;
    if (count > 1) io.out<float>(0)[1] = made_at_start.back();
    if (count > 2) io.out<float>(0)[2] = level_of_this_function();
    if (count > 3) io.out<float>(0)[3] = level_of_inline_function<float>();
  };
}

COHORT_KERNEL("CpuLevelTest", kCPU, make_level);

}  // namespace

float level_of_this_function() { return kLevel; }

}  // namespace cohort::test
