#pragma once

#include <cstdint>
#include <type_traits>

#include "cohort/kernels/broadcast_plan.h"
#include "cohort/kernels/cuda/element.h"
#include "cohort/kernels/cuda/launch.h"

namespace cohort::kernels::cuda {

// As many elements as one access to memory moves.
template <class T, int kCount>
struct alignas(sizeof(T) * kCount) Pack {
  T values[kCount];
};
inline constexpr int kAccessBytes = 16;

inline bool is_aligned(const void* memory) { return reinterpret_cast<std::uintptr_t>(memory) % kAccessBytes == 0; }

// Where an operand's element lies for an element of the output: a BroadcastPlan as the GPU reads it.
struct BroadcastIndex {
  static constexpr int kMaxRank = Shape::kMaxRank;
  int rank;
  std::int64_t sizes[kMaxRank];
  std::int64_t strides[BroadcastPlan::kOperands][kMaxRank];

  explicit BroadcastIndex(const BroadcastPlan& plan) : rank(plan.rank) {
    for (int axis = 0; axis < rank; ++axis) {
      sizes[axis] = plan.sizes[static_cast<std::size_t>(axis)];
      for (int i = 0; i < plan.operands; ++i) {
        strides[i][axis] = plan.strides[static_cast<std::size_t>(i)][static_cast<std::size_t>(axis)];
      }
    }
  }

  template <int kOperands>
  __device__ void find(std::int64_t position, std::int64_t (&at)[kOperands]) const {
    for (int i = 0; i < kOperands; ++i) at[i] = 0;
    for (int axis = rank - 1; axis >= 0; --axis) {
      const std::int64_t index = axis == 0 ? position : position % sizes[axis];
      position /= sizes[axis];
      for (int i = 0; i < kOperands; ++i) at[i] += index * strides[i][axis];
    }
  }
};

template <class Functor, class T>
using UnaryResult = std::conditional_t<std::is_same_v<std::invoke_result_t<Functor, Compute<T>>, bool>, bool, T>;
template <class Functor, class T>
using BinaryResult =
    std::conditional_t<std::is_same_v<std::invoke_result_t<Functor, Compute<T>, Compute<T>>, bool>, bool, T>;

template <class Functor, class T>
__device__ UnaryResult<Functor, T> apply(T x) {
  return narrowed<UnaryResult<Functor, T>>(Functor{}(widened(x)));
}
template <class Functor, class T>
__device__ BinaryResult<Functor, T> apply(T a, T b) {
  return narrowed<BinaryResult<Functor, T>>(Functor{}(widened(a), widened(b)));
}

// Only floating types are worth kernels that move several elements with each access: they are what models compute in,
// and each further kernel costs time to compile.
template <class T>
inline constexpr int kPerAccess = std::is_floating_point_v<Compute<T>> ? kAccessBytes / static_cast<int>(sizeof(T)) : 1;

// y[i] = f(x[i])
template <class Functor, class T>
void launch_unary(const void* x_memory, void* y_memory, std::int64_t n, const cohort::cuda::CudaDevice& device,
                  cudaStream_t stream) {
  using Y = UnaryResult<Functor, T>;
  constexpr int kCount = kPerAccess<T>;
  const auto* x = static_cast<const T*>(x_memory);
  auto* y = static_cast<Y*>(y_memory);
  const std::int64_t packed = kCount > 1 && is_aligned(x) && is_aligned(y) ? n / kCount : 0;
  const std::int64_t first = packed * kCount;
  launch_each(packed + n - first, device, stream, [=] __device__(std::int64_t i) {
    if (i >= packed) {
      const std::int64_t at = first + i - packed;
      y[at] = apply<Functor, T>(x[at]);
      return;
    }
    const auto in = reinterpret_cast<const Pack<T, kCount>*>(x)[i];
    Pack<Y, kCount> out;
#pragma unroll
    for (int k = 0; k < kCount; ++k) out.values[k] = apply<Functor, T>(in.values[k]);
    reinterpret_cast<Pack<Y, kCount>*>(y)[i] = out;
  });
}

// The same for two operands, each of the output's own layout or a single element.
template <class Functor, class T>
void launch_dense_binary(const void* a_memory, const void* b_memory, void* y_memory, std::int64_t n, bool a_moves,
                         bool b_moves, const cohort::cuda::CudaDevice& device, cudaStream_t stream) {
  using Y = BinaryResult<Functor, T>;
  constexpr int kCount = kPerAccess<T>;
  using In = Pack<T, kCount>;
  const auto* a = static_cast<const T*>(a_memory);
  const auto* b = static_cast<const T*>(b_memory);
  auto* y = static_cast<Y*>(y_memory);
  const bool aligned = (!a_moves || is_aligned(a)) && (!b_moves || is_aligned(b)) && is_aligned(y);
  const std::int64_t packed = kCount > 1 && aligned ? n / kCount : 0;
  const std::int64_t first = packed * kCount;
  launch_each(packed + n - first, device, stream, [=] __device__(std::int64_t i) {
    if (i >= packed) {
      const std::int64_t at = first + i - packed;
      y[at] = apply<Functor, T>(a[a_moves ? at : 0], b[b_moves ? at : 0]);
      return;
    }
    In left, right;
    if (a_moves) {
      left = reinterpret_cast<const In*>(a)[i];
    } else {
#pragma unroll
      for (int k = 0; k < kCount; ++k) left.values[k] = *a;
    }
    if (b_moves) {
      right = reinterpret_cast<const In*>(b)[i];
    } else {
#pragma unroll
      for (int k = 0; k < kCount; ++k) right.values[k] = *b;
    }
    Pack<Y, kCount> out;
#pragma unroll
    for (int k = 0; k < kCount; ++k) out.values[k] = apply<Functor, T>(left.values[k], right.values[k]);
    reinterpret_cast<Pack<Y, kCount>*>(y)[i] = out;
  });
}

template <class Functor, class T>
void launch_broadcast_binary(const void* a_memory, const void* b_memory, void* y_memory, std::int64_t n,
                             const BroadcastIndex& index, const cohort::cuda::CudaDevice& device, cudaStream_t stream) {
  const auto* a = static_cast<const T*>(a_memory);
  const auto* b = static_cast<const T*>(b_memory);
  auto* y = static_cast<BinaryResult<Functor, T>*>(y_memory);
  launch_each(n, device, stream, [=] __device__(std::int64_t i) {
    std::int64_t at[2];
    index.find(i, at);
    y[i] = apply<Functor, T>(a[at[0]], b[at[1]]);
  });
}

template <class Functor, fn::Types types>
KernelFn make_unary(const KernelSpec& spec) {
  const std::int64_t n = spec.output_size(0);
  const auto* device = &cohort::cuda::device_of(spec);
  return visit_plain(spec.input(0).dtype, [=](auto type) -> KernelFn {
    using T = typename decltype(type)::type;
    if constexpr (accepts<types, T>) {
      return
          [=](const KernelIO& io) { launch_unary<Functor, T>(io.inputs[0], io.outputs[0], n, *device, stream_of(io)); };
    }
    return {};
  });
}

template <class Functor, fn::Types types>
KernelFn make_binary(const KernelSpec& spec) {
  const BroadcastPlan plan(spec.output(0).shape, {&spec.input(0).shape, &spec.input(1).shape});
  const auto* device = &cohort::cuda::device_of(spec);
  return visit_plain(spec.input(0).dtype, [=](auto type) -> KernelFn {
    using T = typename decltype(type)::type;
    if constexpr (accepts<types, T>) {
      if constexpr (kPerAccess < T >> 1) {
        if (plan.rank == 1)
          return [=, n = plan.total, a_moves = plan.moves(0), b_moves = plan.moves(1)](const KernelIO& io) {
            launch_dense_binary<Functor, T>(io.inputs[0], io.inputs[1], io.outputs[0], n, a_moves, b_moves, *device,
                                            stream_of(io));
          };
      }
      return [=, n = plan.total, index = BroadcastIndex(plan)](const KernelIO& io) {
        launch_broadcast_binary<Functor, T>(io.inputs[0], io.inputs[1], io.outputs[0], n, index, *device,
                                            stream_of(io));
      };
    }
    return {};
  });
}

}  // namespace cohort::kernels::cuda
