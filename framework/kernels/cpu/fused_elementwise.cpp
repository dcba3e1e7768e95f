#include <algorithm>
#include <memory>

#include "cohort/core/thread_pool.h"
#include "cohort/kernels/cpu/fused_program.h"

namespace cohort::kernels {
namespace {

KernelFn make_fused_elementwise(const KernelSpec& spec) {
  auto program = std::make_shared<const FusedProgram>(spec);
  if (!program->complete()) return {};
  return [program](const KernelIO& io) {
    parallel_for(program->total(), kElementGrain, [&](std::int64_t begin, std::int64_t end) {
      alignas(64) char scratch[FusedProgram::kScratchBytes];
      for (std::int64_t at = begin; at < end; at += program->tile()) {
        program->run_tile(io, scratch, at, std::min(at + program->tile(), end));
      }
    });
  };
}

}  // namespace

COHORT_KERNEL("FusedElementwise", kCPU, make_fused_elementwise);

}  // namespace cohort::kernels
