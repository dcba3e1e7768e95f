#pragma once

#include <memory>

#include "cohort/kernels/cuda/update_sums.h"
#include "cohort/kernels/cuda/update_table.h"

// Updates that scale a variable's step by sums over all of it. Every element is visited twice: once for the slots and
// its share of two sums, once for the step. A step's type Step has
//   look(gradient, square, value, slot, sums)   what comes before the sums, and adds to them
//   factor(first sum, second sum, size)         of a whole variable
//   move(gradient, value, slot, factor)         what comes after them
// beside what the rules of other updates have.

namespace cohort::kernels::cuda {

// Leaves the two sums of each block.
template <class T, class Step>
__global__ void __launch_bounds__(kBlock)
    look_at_variables(const __grid_constant__ UpdateTable<update_arrays(Step::kSlots)> table,
                      const UpdateScalarInputs scalars, const typename Step::Options options, double* block_sums) {
  using Elements = UpdateElements<T, Step::kSlots>;
  constexpr int kCount = Elements::kCount;
  __shared__ Step shared_step;
  if (threadIdx.x == 0) shared_step = Step::make(options, UpdateScalars<Compute<T>>(scalars));
  __syncthreads();
  const Step step = shared_step;

  const auto place = table.find(static_cast<int>(blockIdx.x));
  const typename Elements::Arrays arrays(table, place.variable);
  double sums[2] = {};
  for (std::int64_t at = place.begin + static_cast<std::int64_t>(threadIdx.x) * kCount; at < place.end;
       at += kBlock * kCount) {
    Elements elements;
    elements.load(arrays, at, place.end);
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      if (at + i >= place.end) continue;
      Compute<T> slot[Step::kSlots];
#pragma unroll
      for (int s = 0; s < Step::kSlots; ++s) slot[s] = elements.slots[s][i];
      step.look(elements.gradient[i], elements.square[i], elements.value[i], slot, sums);
#pragma unroll
      for (int s = 0; s < Step::kSlots; ++s) elements.slots[s][i] = slot[s];
    }
    if (options.weight_decay != 0.0) elements.store_value(arrays, at, place.end);
    elements.store_slots(arrays, at, place.end);
  }
  add_up_block(sums);
  if (threadIdx.x == 0) {
    block_sums[2 * blockIdx.x] = sums[0];
    block_sums[2 * blockIdx.x + 1] = sums[1];
  }
}

// One block a variable.
template <class T, class Step>
__global__ void __launch_bounds__(kBlock)
    measure_variables(const __grid_constant__ UpdateTable<update_arrays(Step::kSlots)> table,
                      const UpdateScalarInputs scalars, const typename Step::Options options, const double* block_sums,
                      Compute<T>* factors) {
  const int variable = static_cast<int>(blockIdx.x);
  double sums[2] = {};
  for (int block = table.first_block[variable] + static_cast<int>(threadIdx.x); block < table.first_block[variable + 1];
       block += kBlock) {
    sums[0] += block_sums[2 * static_cast<std::int64_t>(block)];
    sums[1] += block_sums[2 * static_cast<std::int64_t>(block) + 1];
  }
  add_up_block(sums);
  if (threadIdx.x == 0) {
    const Step step = Step::make(options, UpdateScalars<Compute<T>>(scalars));
    factors[variable] = step.factor(sums[0], sums[1], table.sizes[variable]);
  }
}

template <class T, class Step>
__global__ void __launch_bounds__(kBlock)
    move_variables(const __grid_constant__ UpdateTable<update_arrays(Step::kSlots)> table,
                   const UpdateScalarInputs scalars, const typename Step::Options options, const Compute<T>* factors) {
  using Elements = UpdateElements<T, Step::kSlots>;
  constexpr int kCount = Elements::kCount;
  __shared__ Step shared_step;
  if (threadIdx.x == 0) shared_step = Step::make(options, UpdateScalars<Compute<T>>(scalars));
  __syncthreads();
  const Step step = shared_step;

  const auto place = table.find(static_cast<int>(blockIdx.x));
  const typename Elements::Arrays arrays(table, place.variable);
  const Compute<T> factor = factors[place.variable];
  for (std::int64_t at = place.begin + static_cast<std::int64_t>(threadIdx.x) * kCount; at < place.end;
       at += kBlock * kCount) {
    Elements elements;
    elements.load_values(arrays, at, place.end);
    if constexpr (Step::kMovesByGradient) {
      Elements::read(arrays, Step::kSlots + 1, at, place.end, elements.gradient);
    }
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      Compute<T> slot[Step::kSlots];
#pragma unroll
      for (int s = 0; s < Step::kSlots; ++s) slot[s] = elements.slots[s][i];
      step.move(Step::kMovesByGradient ? elements.gradient[i] : Compute<T>{0}, elements.value[i], slot, factor);
    }
    elements.store_value(arrays, at, place.end);
  }
}

template <template <class> class StepOf>
KernelFn make_normed_update(const KernelSpec& spec) {
  const UpdateLayout at(spec.call());
  auto* device = &cohort::cuda::device_of(spec);
  return visit_floating(spec.input(at.gradient(0)).dtype, [&](auto type) -> KernelFn {
    using T = typename decltype(type)::type;
    using Step = StepOf<T>;
    using Launches = UpdateLaunches<update_arrays(Step::kSlots)>;
    auto launches = std::make_shared<const Launches>(update_launches<Step::kSlots>(spec, at));
    const std::int64_t sums = 2 * static_cast<std::int64_t>(launches->most_blocks());
    device->reserve_workspace(static_cast<std::size_t>(sums + Launches::Table::kMost) * sizeof(double));
    return [launches, at, device, sums, options = Step::options(spec)](const KernelIO& io) {
      auto* block_sums = static_cast<double*>(device->workspace());
      auto* factors = reinterpret_cast<Compute<T>*>(block_sums + sums);
      const UpdateScalarInputs scalars(io, at);
      const cudaStream_t stream = stream_of(io);
      launches->each(io, [&](const typename Launches::Table& table) {
        look_at_variables<T, Step><<<table.blocks(), kBlock, 0, stream>>>(table, scalars, options, block_sums);
        cohort::cuda::check(cudaGetLastError());
        measure_variables<T, Step><<<table.count, kBlock, 0, stream>>>(table, scalars, options, block_sums, factors);
        cohort::cuda::check(cudaGetLastError());
        move_variables<T, Step><<<table.blocks(), kBlock, 0, stream>>>(table, scalars, options, factors);
        cohort::cuda::check(cudaGetLastError());
      });
    };
  });
}

}  // namespace cohort::kernels::cuda
