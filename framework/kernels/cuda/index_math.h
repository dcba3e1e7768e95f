#pragma once

#include <algorithm>
#include <cstddef>
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

// The same where the kernel does not depend on how large numbers are: where all dividends fit into 31 bits it
// takes a multiplication and a shift.
class BoundedDivider {
 public:
  BoundedDivider() : BoundedDivider(1, 1) {}
  // For dividends in [0, bound]. A divisor of 0 counts as 1: there is nothing to divide then.
  BoundedDivider(std::int64_t divisor, std::int64_t bound) : divisor_(std::max<std::int64_t>(divisor, 1)) {
    if (std::max(bound, divisor_) > kLargest) return;
    while ((std::int64_t{1} << log_) < divisor_) ++log_;
    const std::uint64_t power = std::uint64_t{1} << (31 + log_), by = static_cast<std::uint64_t>(divisor_);
    factor_ = static_cast<std::uint32_t>((power + by - 1) / by);
  }

  // The remainder is left in n.
  __device__ std::int64_t split(std::int64_t& n) const {
    const std::int64_t quotient = divide(n);
    n -= quotient * divisor_;
    return quotient;
  }
  __device__ std::int64_t divide(std::int64_t n) const {
    if (factor_ == 0) return n / divisor_;
    return static_cast<std::int64_t>(std::uint64_t{static_cast<std::uint32_t>(n)} * factor_ >> (31 + log_));
  }
  __device__ std::int64_t remainder(std::int64_t n) const { return n - divide(n) * divisor_; }

 private:
  static constexpr std::int64_t kLargest = 0x7fffffff;
  std::int64_t divisor_;
  std::uint32_t factor_ = 0;  // 0: plain division
  int log_ = 0;
};

// Whether all accesses to two pieces of memory may be this wide.
inline bool both_aligned(std::size_t bytes, const void* a, const void* b) {
  return (reinterpret_cast<std::uintptr_t>(a) | reinterpret_cast<std::uintptr_t>(b)) % bytes == 0;
}

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
