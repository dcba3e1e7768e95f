#include <vector>

#include "cohort/kernels/cuda/elementwise.h"
#include "cohort/kernels/cuda/groups.h"

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

// One of several additions: a block has it.
struct BlockAddition {
  void* variable;
  const void* values;
  std::int64_t count;  // of values
  double factor;
  DType dtype;
  bool reduces, divides;
};
// The additions of a launch, a parameter of the kernel.
struct BlockAdditions {
  static constexpr int kMost = 64;
  BlockAddition additions[kMost];
};

// Each step is rounded as the ops do it that this stands for; sums are in double.
template <class T>
__device__ void add_reals(const BlockAddition& addition) {
  T* variable = static_cast<T*>(addition.variable);
  const T* values = static_cast<const T*>(addition.values);
  const T factor = static_cast<T>(addition.factor);
  if (!addition.reduces) {
    for (std::int64_t i = threadIdx.x; i < addition.count; i += kBlock) variable[i] += factor * values[i];
    return;
  }
  __shared__ double totals[kMostWarps];
  // Asked for before the values are there.
  const T before = *variable;
  double total = 0;
#pragma unroll 4
  for (std::int64_t i = threadIdx.x; i < addition.count; i += kBlock) total += static_cast<double>(values[i]);
  total = sum_group(total, kBlock, totals);
  if (threadIdx.x != 0) return;
  const T value = static_cast<T>(addition.divides ? total / static_cast<double>(addition.count) : total);
  *variable = before + factor * value;
}
// Integers wrap around.
template <class T>
__device__ void add_integers(const BlockAddition& addition) {
  T* variable = static_cast<T*>(addition.variable);
  const T* values = static_cast<const T*>(addition.values);
  for (std::int64_t i = threadIdx.x; i < addition.count; i += kBlock) {
    const auto sum = static_cast<std::uint64_t>(variable[i]), value = static_cast<std::uint64_t>(values[i]);
    variable[i] = static_cast<T>(addition.factor > 0 ? sum + value : sum - value);
  }
}

__global__ void __launch_bounds__(kBlock) add_to_variables(const __grid_constant__ BlockAdditions all) {
  const BlockAddition& addition = all.additions[blockIdx.x];
  if (addition.dtype == DType::Float32) {
    add_reals<float>(addition);
  } else if (addition.dtype == DType::Float64) {
    add_reals<double>(addition);
  } else if (addition.dtype == DType::Int32) {
    add_integers<std::int32_t>(addition);
  } else {
    add_integers<std::int64_t>(addition);
  }
}

KernelFn make_additions(const KernelSpec& spec) {
  const auto factors = spec.attr<std::vector<double>>("factors");
  const auto reductions = spec.attr<std::vector<std::string>>("reductions");
  const int count = spec.num_inputs() / 2;
  std::vector<BlockAddition> additions;
  for (int i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    additions.push_back({nullptr, nullptr, spec.input_size(count + i), factors[at], spec.input(count + i).dtype,
                         !reductions[at].empty(), reductions[at] == "Mean"});
  }
  return [additions, count](const KernelIO& io) {
    for (int first = 0; first < count; first += BlockAdditions::kMost) {
      BlockAdditions some;
      const int taken = std::min(count - first, BlockAdditions::kMost);
      for (int i = 0; i < taken; ++i) {
        some.additions[i] = additions[static_cast<std::size_t>(first + i)];
        some.additions[i].variable = io.inputs[first + i];
        some.additions[i].values = io.inputs[count + first + i];
      }
      add_to_variables<<<static_cast<unsigned int>(taken), kBlock, 0, stream_of(io)>>>(some);
      cohort::cuda::check(cudaGetLastError());
    }
  };
}

COHORT_KERNEL("CopyVariable", kGPU, make_copy);
COHORT_KERNEL("AssignVariable", kGPU, make_assign);
COHORT_KERNEL("AssignAddVariable", kGPU, make_accumulate<fn::Add>);
COHORT_KERNEL("AssignSubVariable", kGPU, make_accumulate<fn::Subtract>);
COHORT_KERNEL("AssignAddVariables", kGPU, make_additions);

}  // namespace
}  // namespace cohort::kernels::cuda
