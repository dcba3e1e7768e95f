#pragma once

#include "cohort/kernels/cuda/launch.h"
#include "cohort/kernels/cuda/reduce_plan.h"
#include "cohort/kernels/cuda/reducers.h"

namespace cohort::kernels::cuda {

// Packs that a thread asks for before it combines them.
inline constexpr int kReduceUnroll = 4;
// Blocks that a multiprocessor shall hold at a time.
inline constexpr int kReduceResident = 2;

// Where results go: rounded as elements of the input would be, even if the output is wider.
template <class Reducer>
struct ReduceOutput {
  TypedElements<typename Reducer::Result> y;
  DType rounding;

  __device__ void write(const Reducer& reducer, std::int64_t output, const typename Reducer::Total& total) const {
    const auto result = reducer.result(total);
    y.set(output, rounding == y.dtype ? result : rounded(result, rounding));
  }
};

template <class Reducer, class C, int kCount>
__global__ void __launch_bounds__(kReduceThreads, kReduceResident)
    reduce_rows(TypedElements<C> x, RowReduction plan, Reducer reducer, ReduceOutput<Reducer> output,
                typename Reducer::Total* parts) {
  using Total = typename Reducer::Total;
  __shared__ Total shared[kMostWarps];
  const int lane = static_cast<int>(threadIdx.x) & (plan.group - 1);
  const std::int64_t task = static_cast<std::int64_t>(blockIdx.x) * (kReduceThreads / plan.group) +
                            static_cast<int>(threadIdx.x) / plan.group;
  const bool exists = task < plan.outputs * plan.parts;
  const std::int64_t index = plan.parts == 1 ? task : task / plan.parts, part = task - index * plan.parts;
  const std::int64_t end = exists ? min((part + 1) * plan.part_steps, plan.steps) : 0;
  const std::int64_t base = exists ? plan.kept.offset(index) : 0;

  // Step number `step` is pack `pack` of row `row`; a thread's next one lies `group` further.
  const std::int64_t first_step = part * plan.part_steps + lane;
  const std::int64_t first_row = plan.rows == 1 ? 0 : first_step / max(plan.packs, std::int64_t{1});
  const std::int64_t more_rows = plan.rows == 1 ? 0 : plan.group / max(plan.packs, std::int64_t{1});
  const std::int64_t more_packs = plan.group - more_rows * plan.packs;
  Total total = reducer.nothing();
  for (std::int64_t place = 0; place < plan.places; ++place) {
    const std::int64_t start = plan.places == 1 ? base : base + plan.reduced.offset(place);
    std::int64_t row = first_row, pack = first_step - first_row * plan.packs;
    for (std::int64_t step = first_step; step < end;) {
      C values[kReduceUnroll][kCount];
      bool exists_here[kReduceUnroll];
      std::int64_t positions[kReduceUnroll], at[kReduceUnroll];
#pragma unroll
      for (int u = 0; u < kReduceUnroll; ++u) {
        const std::int64_t column = pack * kCount;
        exists_here[u] = step < end;
        positions[u] = row * plan.columns + column;
        at[u] = start + row * plan.row_stride + column;
        step += plan.group;
        row += more_rows;
        pack += more_packs;
        if (plan.rows != 1 && pack >= plan.packs) {
          pack -= plan.packs;
          ++row;
        }
      }
      x.load([&](int u) { return at[u]; }, [&](int u) { return exists_here[u]; }, values, C(0));
      typename Reducer::Lane sum = reducer.lift(values[0][0], positions[0]);
#pragma unroll
      for (int u = 0; u < kReduceUnroll; ++u) {
#pragma unroll
        for (int j = 0; j < kCount; ++j) {
          if (u + j > 0 && exists_here[u]) sum = reducer.merge(sum, reducer.lift(values[u][j], positions[u] + j));
        }
      }
      total = reducer.merge(total, sum);
    }
  }
  total = merge_group(total, plan.group, shared, [&](const Total& a, const Total& b) { return reducer.merge(a, b); });
  if (!exists || lane != 0) return;
  if (parts) {
    parts[task] = total;
  } else {
    output.write(reducer, index, total);
  }
}

template <class Reducer, class C, int kCount>
__global__ void __launch_bounds__(kReduceThreads, kReduceResident)
    reduce_columns(TypedElements<C> x, ColumnReduction plan, Reducer reducer, ReduceOutput<Reducer> output,
                   typename Reducer::Total* parts) {
  using Total = typename Reducer::Total;
  __shared__ Total shared[kCount][kReduceThreads];
  const int thread = static_cast<int>(threadIdx.x);
  const int lane = thread & (plan.lanes - 1), height = thread / plan.lanes & (plan.rows_at_once - 1);
  const std::int64_t tile = blockIdx.x % plan.tiles;
  const std::int64_t kept = blockIdx.x / plan.tiles * plan.deep + thread / (plan.lanes * plan.rows_at_once);
  const std::int64_t column = (tile * plan.lanes + lane) * kCount;
  const bool exists = kept < plan.depth && column < plan.columns;
  const std::int64_t begin = blockIdx.y * plan.part_rows;
  const std::int64_t end = exists ? min(begin + plan.part_rows, plan.rows) : 0;
  const std::int64_t base = exists ? plan.kept.offset(kept) + column : 0;

  Total totals[kCount];
#pragma unroll
  for (Total& each : totals) each = reducer.nothing();
  for (std::int64_t place = 0; place < plan.places; ++place) {
    const std::int64_t start = plan.places == 1 ? base : base + plan.reduced.offset(place);
    for (std::int64_t row = begin + height; row < end; row += kReduceUnroll * plan.rows_at_once) {
      C values[kReduceUnroll][kCount];
      const auto row_of = [&](int u) { return row + u * plan.rows_at_once; };
      const auto has = [&](int u) { return row_of(u) < end; };
      x.load([&](int u) { return start + row_of(u) * plan.row_stride; }, has, values, C(0));
#pragma unroll
      for (int j = 0; j < kCount; ++j) {
        typename Reducer::Lane sum = reducer.lift(values[0][j], row);
#pragma unroll
        for (int u = 1; u < kReduceUnroll; ++u) {
          if (has(u)) sum = reducer.merge(sum, reducer.lift(values[u][j], row_of(u)));
        }
        totals[j] = reducer.merge(totals[j], sum);
      }
    }
  }

#pragma unroll
  for (int j = 0; j < kCount; ++j) shared[j][thread] = totals[j];
  for (int half = plan.rows_at_once / 2; half > 0; half /= 2) {
    __syncthreads();
    if (height < half) {
#pragma unroll
      for (int j = 0; j < kCount; ++j) {
        totals[j] = reducer.merge(totals[j], shared[j][thread + half * plan.lanes]);
        shared[j][thread] = totals[j];
      }
    }
  }
  if (height > 0 || !exists) return;
#pragma unroll
  for (int j = 0; j < kCount; ++j) {
    const std::int64_t index = kept * plan.columns + column + j;
    if (parts) {
      parts[index * plan.parts + blockIdx.y] = totals[j];
    } else {
      output.write(reducer, index, totals[j]);
    }
  }
}

// Combines the parts of each output: a warp for each.
template <class Reducer>
__global__ void __launch_bounds__(kReduceThreads)
    reduce_parts(const typename Reducer::Total* parts, std::int64_t outputs, std::int64_t count, Reducer reducer,
                 ReduceOutput<Reducer> output) {
  using Total = typename Reducer::Total;
  const std::int64_t index =
      static_cast<std::int64_t>(blockIdx.x) * (kReduceThreads / kWarp) + static_cast<int>(threadIdx.x) / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  Total total = reducer.nothing();
  if (index < outputs) {
#pragma unroll 4
    for (std::int64_t i = lane; i < count; i += kWarp) total = reducer.merge(total, parts[index * count + i]);
  }
  total = merge_group(total, kWarp, static_cast<Total*>(nullptr),
                      [&](const Total& a, const Total& b) { return reducer.merge(a, b); });
  if (index < outputs && lane == 0) output.write(reducer, index, total);
}

template <class Reducer, class C, int kCount>
void launch(const RowReduction& plan, const TypedElements<C>& x, const Reducer& reducer,
            const ReduceOutput<Reducer>& output, typename Reducer::Total* parts, cudaStream_t stream) {
  reduce_rows<Reducer, C, kCount><<<plan.blocks(), kReduceThreads, 0, stream>>>(x, plan, reducer, output, parts);
}
template <class Reducer, class C, int kCount>
void launch(const ColumnReduction& plan, const TypedElements<C>& x, const Reducer& reducer,
            const ReduceOutput<Reducer>& output, typename Reducer::Total* parts, cudaStream_t stream) {
  const dim3 blocks(plan.blocks(), static_cast<unsigned int>(plan.parts));
  reduce_columns<Reducer, C, kCount><<<blocks, plan.threads(), 0, stream>>>(x, plan, reducer, output, parts);
}

// The kernel for elements that are computed in C; Plan is RowReduction or ColumnReduction.
template <class Plan, class Reducer, class C>
KernelFn make_planned_reduction(const KernelSpec& spec, const ReducePlan& plan, const Reducer& reducer,
                                DType rounding) {
  using Total = typename Reducer::Total;
  auto* device = &cohort::cuda::device_of(spec);
  const DType x_type = spec.input(0).dtype, y_type = spec.output(0).dtype;
  const Plan packed(plan, kWidth<C>), single(plan, 1);
  if (packed.outputs == 0) return [](const KernelIO&) {};
  const std::int64_t parts = std::max(packed.parts, single.parts);
  if (parts > 1) device->reserve_workspace(static_cast<std::size_t>(packed.outputs * parts) * sizeof(Total));
  return [=, can_pack = packed.can_pack(kWidth<C>)](const KernelIO& io) {
    const TypedElements<C> x{io.inputs[0], x_type};
    const ReduceOutput<Reducer> output{{io.outputs[0], y_type}, rounding};
    const auto run = [&]<int kCount>(const Plan& chosen) {
      auto* totals = chosen.parts > 1 ? static_cast<Total*>(device->workspace()) : nullptr;
      launch<Reducer, C, kCount>(chosen, x, reducer, output, totals, stream_of(io));
      cohort::cuda::check(cudaGetLastError());
      if (!totals) return;
      constexpr std::int64_t kOutputsOfBlock = kReduceThreads / kWarp;
      const auto blocks = static_cast<unsigned int>((chosen.outputs + kOutputsOfBlock - 1) / kOutputsOfBlock);
      reduce_parts<Reducer>
          <<<blocks, kReduceThreads, 0, stream_of(io)>>>(totals, chosen.outputs, chosen.parts, reducer, output);
      cohort::cuda::check(cudaGetLastError());
    };
    if (can_pack && x.is_packed()) {
      run.template operator()<kWidth<C>>(packed);
    } else {
      run.template operator()<1>(single);
    }
  };
}

template <class Reducer, class C>
KernelFn make_reduction(const KernelSpec& spec, const ReducePlan& plan, const Reducer& reducer, DType rounding) {
  return plan.over_columns ? make_planned_reduction<RowReduction, Reducer, C>(spec, plan, reducer, rounding)
                           : make_planned_reduction<ColumnReduction, Reducer, C>(spec, plan, reducer, rounding);
}

}  // namespace cohort::kernels::cuda
