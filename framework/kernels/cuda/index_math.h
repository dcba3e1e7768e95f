#pragma once

#include <cstdint>

namespace cohort::kernels::cuda {

// Division of a number from 0 to 2^31 - 1 (or any, for 64 bits) by one that is known when a kernel is made.
template <class Index>
struct Divider {
  std::int64_t divisor = 1;

  Divider() = default;
  explicit Divider(std::int64_t divisor) : divisor(divisor) {}
  __device__ std::int64_t divide(std::int64_t x) const { return x / divisor; }
};

// By a product: ceil(2^(31 + shift) / divisor) has 32 bits when 2^shift is the power of two at or above the divisor,
// and what rounding it up adds stays below the next whole number.
template <>
struct Divider<std::int32_t> {
  std::int32_t divisor = 1;
  std::uint32_t factor = 1u << 31;
  std::uint32_t shift = 0;

  Divider() = default;
  explicit Divider(std::int64_t by) : divisor(static_cast<std::int32_t>(by)) {
    while ((std::int64_t{1} << shift) < by) ++shift;
    factor = static_cast<std::uint32_t>(((std::uint64_t{1} << (31 + shift)) + static_cast<std::uint64_t>(by) - 1) /
                                        static_cast<std::uint64_t>(by));
  }
  __device__ std::int32_t divide(std::int32_t x) const {
    const std::uint64_t product = static_cast<std::uint64_t>(static_cast<std::uint32_t>(x) * 2) * factor;
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(product >> 32) >> shift);
  }
};

// Where elements of several operands lie for a position that counts through axes, the innermost axis first.
template <class Index, int kOperands, int kMaxAxes>
struct StridedIndex {
  int rank = 0;
  Divider<Index> sizes[kMaxAxes];
  Index strides[kMaxAxes][kOperands];

  __device__ void find(Index position, Index (&at)[kOperands]) const {
#pragma unroll
    for (int i = 0; i < kOperands; ++i) at[i] = 0;
#pragma unroll
    for (int axis = 0; axis < kMaxAxes; ++axis) {
      if (axis == rank) break;
      const Index next = sizes[axis].divide(position);
      const Index coordinate = position - next * sizes[axis].divisor;
#pragma unroll
      for (int i = 0; i < kOperands; ++i) at[i] += coordinate * strides[axis][i];
      position = next;
    }
  }
};

}  // namespace cohort::kernels::cuda
