#pragma once

#include <utility>

#include "cohort/kernels/cuda/launch.h"
#include "cohort/kernels/cuda/reduce_plan.h"
#include "cohort/kernels/cuda/reducers.h"
#include "cohort/kernels/cuda/row_loads.h"

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

// How a kernel that reduces columns is instantiated: a thread has `count` of them. Where the type of elements is known,
// not void, there are registers for more packs and blocks. Only sums are made for known types: elements that do not
// exist are zeros there, and may be added.
template <class T, int count>
struct ColumnForm {
  using Stored = T;
  static constexpr int kCount = count;
  static constexpr bool kTyped = !std::is_void_v<T>;
  static constexpr int kUnroll = kTyped ? 2 * kReduceUnroll : kReduceUnroll;
  static constexpr int kResident = kTyped ? kReduceResident + 1 : kReduceResident;

  template <class C, class At, class Exists>
  static __device__ void load(const TypedElements<C, T>& x, const At& at, const Exists& exists,
                              C (&values)[kUnroll][kCount]) {
    if constexpr (kTyped) {
      static_assert(kCount == kPerAccess<T>);
      StoredPacks<T, kUnroll> packs;
      packs.load(static_cast<const T*>(x.memory), at, exists);
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
#pragma unroll
        for (int j = 0; j < kCount; ++j) values[u][j] = packs.element(u, j);
      }
    } else {
      x.load(at, exists, values, C(0));
    }
  }
};

template <class Reducer, class C, class Form>
__global__ void __launch_bounds__(kReduceThreads, Form::kResident)
    reduce_columns(TypedElements<C, typename Form::Stored> x, ColumnReduction plan, Reducer reducer,
                   ReduceOutput<Reducer> output, typename Reducer::Total* parts) {
  using Total = typename Reducer::Total;
  constexpr int kCount = Form::kCount, kUnroll = Form::kUnroll;
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
    for (std::int64_t row = begin + height; row < end; row += kUnroll * plan.rows_at_once) {
      C values[kUnroll][kCount];
      const std::int64_t first = start + row * plan.row_stride, step = plan.rows_at_once * plan.row_stride;
      const auto row_of = [&](int u) { return row + u * plan.rows_at_once; };
      const auto has = [&](int u) { return row_of(u) < end; };
      Form::load(
          x, [&](int u) { return first + u * step; }, has, values);
      // In pairs, and pairs of these, as soon as both are there: more rows cost neither digits nor registers.
      typename Reducer::Lane sums[kUnroll][kCount];
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
#pragma unroll
        for (int j = 0; j < kCount; ++j) sums[u][j] = reducer.lift(values[u][j], row_of(u));
#pragma unroll
        for (int size = 1; (u + 1) % (2 * size) == 0; size *= 2) {
          const int later = u + 1 - size, earlier = later - size;
#pragma unroll
          for (int j = 0; j < kCount; ++j) {
            if (Form::kTyped || has(later)) sums[earlier][j] = reducer.merge(sums[earlier][j], sums[later][j]);
          }
        }
      }
#pragma unroll
      for (int j = 0; j < kCount; ++j) totals[j] = reducer.merge(totals[j], sums[0][j]);
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
#pragma unroll 1
  for (int j = 0; j < kCount; ++j) {
    const std::int64_t index = kept * plan.columns + column + j;
    if (parts) {
      parts[index * plan.parts + blockIdx.y] = shared[j][thread];
    } else {
      output.write(reducer, index, shared[j][thread]);
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
template <class Reducer, class C, int kCount, class Stored>
void launch(const ColumnReduction& plan, const TypedElements<C, Stored>& x, const Reducer& reducer,
            const ReduceOutput<Reducer>& output, typename Reducer::Total* parts, cudaStream_t stream) {
  const dim3 blocks(plan.blocks(), static_cast<unsigned int>(plan.parts));
  reduce_columns<Reducer, C, ColumnForm<Stored, kCount>>
      <<<blocks, plan.threads(), 0, stream>>>(x, plan, reducer, output, parts);
}

// Working memory that the plan needs.
template <class Reducer, class Plan>
std::size_t parts_bytes(const Plan& plan) {
  return plan.parts > 1 ? static_cast<std::size_t>(plan.outputs * plan.parts) * sizeof(typename Reducer::Total) : 0;
}

// Reduces by the plan, a thread's access to memory moving kCount elements; `parts` is that memory.
template <int kCount, class Plan, class Reducer, class C, class Stored>
void reduce_by(const Plan& plan, const TypedElements<C, Stored>& x, const Reducer& reducer,
               const ReduceOutput<Reducer>& output, void* parts, cudaStream_t stream) {
  auto* totals = plan.parts > 1 ? static_cast<typename Reducer::Total*>(parts) : nullptr;
  launch<Reducer, C, kCount>(plan, x, reducer, output, totals, stream);
  cohort::cuda::check(cudaGetLastError());
  if (!totals) return;
  constexpr std::int64_t kOutputsOfBlock = kReduceThreads / kWarp;
  const auto blocks = static_cast<unsigned int>((plan.outputs + kOutputsOfBlock - 1) / kOutputsOfBlock);
  reduce_parts<Reducer><<<blocks, kReduceThreads, 0, stream>>>(totals, plan.outputs, plan.parts, reducer, output);
  cohort::cuda::check(cudaGetLastError());
}

// The kernel for elements that are computed in C; Plan is RowReduction or ColumnReduction.
template <class Plan, class Reducer, class C>
KernelFn make_planned_reduction(const KernelSpec& spec, const ReducePlan& plan, const Reducer& reducer,
                                DType rounding) {
  auto* device = &cohort::cuda::device_of(spec);
  const DType x_type = spec.input(0).dtype, y_type = spec.output(0).dtype;
  const Plan packed(plan, kWidth<C>), single(plan, 1);
  if (packed.outputs == 0) return [](const KernelIO&) {};
  device->reserve_workspace(std::max(parts_bytes<Reducer>(packed), parts_bytes<Reducer>(single)));
  return [=, can_pack = packed.can_pack(kWidth<C>)](const KernelIO& io) {
    const TypedElements<C> x{io.inputs[0], x_type};
    const ReduceOutput<Reducer> output{{io.outputs[0], y_type}, rounding};
    if (can_pack && x.is_packed()) {
      reduce_by<kWidth<C>>(packed, x, reducer, output, device->workspace(), stream_of(io));
    } else {
      reduce_by<1>(single, x, reducer, output, device->workspace(), stream_of(io));
    }
  };
}

// Sums of columns in float are worth kernels for each type of elements: gradients of biases are such. `other` is for
// memory that one access cannot move as many elements of as it could.
template <class T>
KernelFn make_typed_column_sum(const KernelSpec& spec, const ReducePlan& plan, const SumReducer<float>& reducer,
                               DType rounding, KernelFn other) {
  auto* device = &cohort::cuda::device_of(spec);
  const DType x_type = spec.input(0).dtype, y_type = spec.output(0).dtype;
  const ColumnReduction packed(plan, kPerAccess<T>, kFewReduceBlocks);
  if (packed.outputs == 0 || !packed.can_pack(kPerAccess<T>)) return other;
  device->reserve_workspace(parts_bytes<SumReducer<float>>(packed));
  return [=, other = std::move(other)](const KernelIO& io) {
    if (!is_aligned(io.inputs[0])) return other(io);
    const TypedElements<float, T> x{io.inputs[0], x_type};
    const ReduceOutput<SumReducer<float>> output{{io.outputs[0], y_type}, rounding};
    reduce_by<kPerAccess<T>>(packed, x, reducer, output, device->workspace(), stream_of(io));
  };
}

template <class Reducer, class C>
KernelFn make_reduction(const KernelSpec& spec, const ReducePlan& plan, const Reducer& reducer, DType rounding) {
  if (plan.over_columns) return make_planned_reduction<RowReduction, Reducer, C>(spec, plan, reducer, rounding);
  KernelFn by_columns = make_planned_reduction<ColumnReduction, Reducer, C>(spec, plan, reducer, rounding);
  if constexpr (std::is_same_v<Reducer, SumReducer<float>>) {
    return visit_floating(spec.input(0).dtype, [&](auto type) -> KernelFn {
      using T = typename decltype(type)::type;
      if constexpr (std::is_same_v<Compute<T>, float>) {
        return make_typed_column_sum<T>(spec, plan, reducer, rounding, std::move(by_columns));
      } else {
        return by_columns;
      }
    });
  } else {
    return by_columns;
  }
}

}  // namespace cohort::kernels::cuda
