#include <vector>

#include "cohort/core/collective.h"
#include "cohort/core/kernel.h"

namespace cohort {
namespace {

KernelFn reduced_by(const KernelSpec& spec, Collective::Reduction reduction) {
  std::vector<Collective::Part> parts;
  for (int i = 0; i < spec.num_outputs(); ++i) parts.push_back({spec.output(i).dtype, spec.output_size(i)});
  return [parts, reduction](const KernelIO& io) {
    static_cast<Collective*>(io.inputs[0])->all_reduce(parts, io.inputs + 1, io.outputs, reduction);
  };
}

KernelFn all_reduce(const KernelSpec& spec) { return reduced_by(spec, Collective::Reduction::Sum); }
KernelFn broadcast_first(const KernelSpec& spec) { return reduced_by(spec, Collective::Reduction::First); }

COHORT_KERNEL("AllReduce", kCPU, all_reduce);
COHORT_KERNEL("BroadcastFirst", kCPU, broadcast_first);

}  // namespace
}  // namespace cohort
