#include "cohort/kernels/cuda/row_packs.h"
#include "cohort/kernels/cuda/rows.h"

namespace cohort::kernels::cuda {
namespace {

// y = (x - mean) * r * gamma + beta, and the two statistics of each row.
template <class C, class Form>
__global__ void __launch_bounds__(RowPlan::kMostThreads)
    normalize_rows(TypedElements<C> x, TypedElements<C> gamma, TypedElements<C> beta, TypedElements<C> y, C* means,
                   C* scales, RowPlan plan, C epsilon) {
  __shared__ C shared[kMostWarps];
  using Chunk = typename Row<C, Form>::Chunk;
  Row<C, Form> row(plan, shared);
  row.read(x, C(0));
  C sum = 0;
  row.for_each([&](std::int64_t, auto& chunk) {
#pragma unroll
    for (auto& pack : chunk) {
#pragma unroll
      for (C each : pack) sum += each;
    }
  });
  const C mean = row.sum(sum) / static_cast<C>(plan.count);
  C squares = 0;
  row.for_each([&](std::int64_t first, auto& chunk) {
#pragma unroll
    for (int k = 0; k < Form::kPacks; ++k) {
#pragma unroll
      for (int j = 0; j < Form::kCount; ++j) {
        const C distance = chunk[k][j] - mean;
        if (row.has(first, k)) squares += distance * distance;
      }
    }
  });
  const C r = C(1) / fn::sqrt(row.sum(squares) / static_cast<C>(plan.count) + epsilon);
  row.for_each([&](std::int64_t first, auto& chunk) {
    Chunk factors, shifts;
    row.load_shared(gamma, first, factors);
    row.load_shared(beta, first, shifts);
#pragma unroll
    for (int k = 0; k < Form::kPacks; ++k) {
#pragma unroll
      for (int j = 0; j < Form::kCount; ++j) shifts[k][j] = (chunk[k][j] - mean) * r * factors[k][j] + shifts[k][j];
    }
    row.store(y, first, shifts);
  });
  if (!row.is_first()) return;
  means[row.index()] = mean;
  scales[row.index()] = r;
}

// Blocks that a multiprocessor shall hold at a time: as many as registers suffice for.
template <class Held>
inline constexpr int kHeldBlocks = sizeof(typename Held::Stored) > 2 ? 2
                                   : Held::kElements > 24            ? 3
                                                                     : 4;

// What normalize_rows does, of rows that warps hold.
template <class Held, class T = typename Held::Stored>
__global__ void __launch_bounds__(WarpRows::kThreads, kHeldBlocks<Held>)
    normalize_held_rows(const T* __restrict__ x, TypedElements<float> gamma, TypedElements<float> beta,
                        T* __restrict__ y, float* __restrict__ means, float* __restrict__ scales, WarpRows rows,
                        float epsilon) {
  __shared__ SharedRow<Held> factors, shifts;
  const int width = static_cast<int>(rows.width);
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * WarpRows::kWarps;
  std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * WarpRows::kWarps + threadIdx.x / kWarp;
  Held next;
  if (row < rows.rows) next.load(x + row * width, width);
  factors.fill(gamma, width);
  shifts.fill(beta, width);
  __syncthreads();
  for (; row < rows.rows; row += stride) {
    Held values = next;
    if (row + stride < rows.rows) next.load(x + (row + stride) * width, width);
    float sum = 0, squares = 0;
#pragma unroll
    for (int e = 0; e < Held::kElements; ++e) sum += values[e];
    const float mean = sum_group(sum, kWarp, static_cast<float*>(nullptr)) / static_cast<float>(width);
    values.stay_packed();
#pragma unroll
    for (int e = 0; e < Held::kElements; ++e) {
      const float distance = values[e] - mean;
      if (Held::has(e / Held::kCount, width)) squares += distance * distance;
    }
    const float variance = sum_group(squares, kWarp, static_cast<float*>(nullptr)) / static_cast<float>(width);
    const float r = 1.0f / fn::sqrt(variance + epsilon);
    values.stay_packed();
    Held::store(y + row * width, width, [&](int k, float(&results)[Held::kCount]) {
      float factor[Held::kCount], shift[Held::kCount];
      factors.read(k, factor);
      shifts.read(k, shift);
#pragma unroll
      for (int j = 0; j < Held::kCount; ++j) {
        results[j] = (values[k * Held::kCount + j] - mean) * r * factor[j] + shift[j];
      }
    });
    if (Held::lane() == 0) {
      means[row] = mean;
      scales[row] = r;
    }
  }
}

KernelFn make_layer_norm(const KernelSpec& spec) {
  const Shape &shape = spec.input(0).shape, &parameters = spec.input(1).shape;
  const std::int64_t rows = shape.slice(0, shape.rank() - parameters.rank()).num_elements();
  auto* device = &cohort::cuda::device_of(spec);
  const DType x_type = spec.input(0).dtype, parameter_type = spec.input(1).dtype, y_type = spec.output(0).dtype;
  return visit_computed_floating(spec.output(1).dtype, [&](auto type) -> KernelFn {
    using C = typename decltype(type)::type;
    const RowPlans<C> plans(rows, parameters.num_elements());
    const WarpRows warp_rows{rows, parameters.num_elements()};
    const bool can_hold = x_type == y_type && warp_rows.fit(x_type);
    return [=, epsilon = static_cast<C>(spec.attr<double>("epsilon"))](const KernelIO& io) {
      const TypedElements<C> x{io.inputs[0], x_type}, gamma{io.inputs[1], parameter_type},
          beta{io.inputs[2], parameter_type}, y{io.outputs[0], y_type};
      if constexpr (std::is_same_v<C, float>) {
        if (can_hold && is_aligned(x.memory) && is_aligned(y.memory) && gamma.is_packed() && beta.is_packed()) {
          visit_warp_rows(x_type, warp_rows.width, [&]<class Held>(Type<Held>) {
            using T = typename Held::Stored;
            const unsigned int blocks =
                warp_rows.blocks(static_cast<std::int64_t>(device->multiprocessors()) * kHeldBlocks<Held>);
            normalize_held_rows<Held><<<blocks, WarpRows::kThreads, 0, stream_of(io)>>>(
                static_cast<const T*>(x.memory), gamma, beta, static_cast<T*>(y.memory), io.out<C>(1), io.out<C>(2),
                warp_rows, epsilon);
          });
          return cohort::cuda::check(cudaGetLastError());
        }
      }
      const RowPlan& plan = plans.choose(x, gamma, beta, y);
      visit_form<C>(plan, [&]<class Form>(Form) {
        normalize_rows<C, Form><<<plan.blocks(), plan.threads, 0, stream_of(io)>>>(x, gamma, beta, y, io.out<C>(1),
                                                                                   io.out<C>(2), plan, epsilon);
      });
      cohort::cuda::check(cudaGetLastError());
    };
  });
}

COHORT_KERNEL("LayerNorm", kGPU, make_layer_norm);

}  // namespace
}  // namespace cohort::kernels::cuda
