#include "cohort/kernels/cuda/elementwise.h"

namespace cohort::kernels::cuda {
namespace {

// A variable is its memory on this device.
void copy(void* to, const void* from, std::size_t bytes, const KernelIO& io) {
  if (bytes == 0 || to == from) return;
  cohort::cuda::check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream_of(io)));
}

KernelFn make_assign(const KernelSpec& spec) {
  const std::size_t bytes = static_cast<std::size_t>(spec.input_size(1)) * size_of(spec.input(1).dtype);
  return [bytes](const KernelIO& io) { copy(io.inputs[0], io.inputs[1], bytes, io); };
}

KernelFn make_copy(const KernelSpec& spec) {
  const std::size_t bytes = static_cast<std::size_t>(spec.output_size(0)) * size_of(spec.output(0).dtype);
  return [bytes](const KernelIO& io) { copy(io.outputs[0], io.inputs[0], bytes, io); };
}

template <class Functor>
KernelFn make_accumulate(const KernelSpec& spec) {
  const auto* device = &cohort::cuda::device_of(spec);
  return visit_plain(spec.input(1).dtype, [n = spec.input_size(1), device](auto type) -> KernelFn {
    using T = typename decltype(type)::type;
    return [=](const KernelIO& io) {
      launch_dense_binary<Functor, T>(io.inputs[0], io.inputs[1], io.inputs[0], n, true, true, *device, stream_of(io));
    };
  });
}

COHORT_KERNEL("CopyVariable", kGPU, make_copy);
COHORT_KERNEL("AssignVariable", kGPU, make_assign);
COHORT_KERNEL("AssignAddVariable", kGPU, make_accumulate<fn::Add>);
COHORT_KERNEL("AssignSubVariable", kGPU, make_accumulate<fn::Subtract>);

}  // namespace
}  // namespace cohort::kernels::cuda
