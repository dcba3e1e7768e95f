#include <cstring>
#include <vector>

#include "cohort/core/collective.h"
#include "cohort/core/kernel.h"

namespace cohort {
namespace {

using CollectiveParts = std::vector<Collective::Part>;

CollectiveParts collective_parts(const KernelSpec& spec) {
  CollectiveParts parts;
  for (int i = 0; i < spec.num_outputs(); ++i) parts.push_back({spec.output(i).dtype, spec.output_size(i)});
  return parts;
}

// Where an output is not in its input's memory.
void copy_collective_parts(const CollectiveParts& parts, const KernelIO& io) {
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const void* const from = io.inputs[i + 1];
    const std::size_t bytes = static_cast<std::size_t>(parts[i].elements) * size_of(parts[i].dtype);
    if (io.outputs[i] != from && bytes > 0) std::memcpy(io.outputs[i], from, bytes);
  }
}

KernelFn start_all_reduce(const KernelSpec& spec) {
  return [parts = collective_parts(spec)](const KernelIO& io) {
    copy_collective_parts(parts, io);
    static_cast<Collective*>(io.inputs[0])->start(parts, io.outputs, io.stream);
  };
}

KernelFn wait_for_all_reduce(const KernelSpec& spec) {
  return [parts = collective_parts(spec)](const KernelIO& io) {
    static_cast<Collective*>(io.inputs[0])->wait(io.inputs + 1, io.stream);
    copy_collective_parts(parts, io);
  };
}

KernelFn reduced_by(const KernelSpec& spec, Collective::Reduction reduction) {
  return [parts = collective_parts(spec), reduction](const KernelIO& io) {
    static_cast<Collective*>(io.inputs[0])->all_reduce(parts, io.inputs + 1, io.outputs, reduction);
  };
}

KernelFn all_reduce(const KernelSpec& spec) { return reduced_by(spec, Collective::Reduction::Sum); }
KernelFn broadcast_first(const KernelSpec& spec) { return reduced_by(spec, Collective::Reduction::First); }

KernelFn gather_replicas(const KernelSpec& spec) {
  CollectiveParts parts;
  for (int i = 1; i < spec.num_inputs(); ++i) parts.push_back({spec.input(i).dtype, spec.input_size(i)});
  return [parts, replicas = static_cast<int>(spec.attr<std::int64_t>("replicas"))](const KernelIO& io) {
    static_cast<Collective*>(io.inputs[0])->gather(parts, replicas, io.inputs + 1, io.outputs);
  };
}

COHORT_KERNEL("AllReduce", kCPU, all_reduce);
COHORT_KERNEL("BroadcastFirst", kCPU, broadcast_first);
COHORT_KERNEL("GatherReplicas", kCPU, gather_replicas);
COHORT_KERNEL("AllReduceStart", kCPU, start_all_reduce);
COHORT_KERNEL("AllReduceWait", kCPU, wait_for_all_reduce);

}  // namespace
}  // namespace cohort
