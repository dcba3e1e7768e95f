#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

namespace cohort::kernels::cuda {

// The instructions with which a warp multiplies 16-bit matrices. A lane holds parts of 8 x 8 squares: two neighbouring
// columns, 2 * (lane % 4), of row lane / 4.

// A left operand of 16 x 16: squares (rows 0.., columns 0..), (8.., 0..), (0.., 8..), (8.., 8..).
struct LeftFragment {
  std::uint32_t squares[4];
};
// Sums of 16 x 8: two columns of row lane / 4, then of the row 8 below.
struct SumFragment {
  float values[4];
};

__device__ inline std::uint32_t shared_address(const void* memory) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(memory));
}

// Begins to copy 16 bytes into shared memory, or writes zeros there.
__device__ inline void begin_copy(void* shared, const void* global, bool exists) {
  const int bytes = exists ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(shared)), "l"(global), "r"(bytes)
               : "memory");
}
// The same by way of the multiprocessor's own cache, for what its threads read again soon.
__device__ inline void begin_cached_copy(void* shared, const void* global, bool exists) {
  const int bytes = exists ? 16 : 0;
  asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(shared)), "l"(global), "r"(bytes)
               : "memory");
}
__device__ inline void end_group_of_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Waits for the calling thread's copies; with kLeft, not for those of that many last groups.
template <int kLeft = 0>
__device__ inline void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kLeft) : "memory");
}

// Four squares whose rows lie in shared memory: lanes 0 to 7 name the rows of the first, and so on.
__device__ inline void load_squares(const void* row, std::uint32_t (&squares)[4]) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(squares[0]), "=r"(squares[1]), "=r"(squares[2]), "=r"(squares[3])
               : "r"(shared_address(row))
               : "memory");
}
// The same, each square transposed.
__device__ inline void load_transposed_squares(const void* row, std::uint32_t (&squares)[4]) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(squares[0]), "=r"(squares[1]), "=r"(squares[2]), "=r"(squares[3])
               : "r"(shared_address(row))
               : "memory");
}

// sums += left * right, where a lane holds rows 2 * (lane % 4) and the next of column lane / 4 of the right operand,
// and the same 8 rows below.
template <class T>
__device__ inline void multiply_squares(SumFragment& sums, const LeftFragment& left, std::uint32_t right_top,
                                        std::uint32_t right_bottom) {
  const std::uint32_t* a = left.squares;
  float* c = sums.values;
  if constexpr (std::is_same_v<T, __half>) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(right_top), "r"(right_bottom));
  } else {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(right_top), "r"(right_bottom));
  }
}

// A float32 number as tensor cores read it: rounded to TensorFloat-32, halves away from zero.
__device__ inline std::uint32_t tensor_float(float x) {
  std::uint32_t rounded;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(rounded) : "f"(x));
  return rounded;
}
// sums += left * right of 16 x 8 and 8 x 8 such numbers. A lane holds column lane % 4 of rows lane / 4 and 8 below of
// the left operand, then the same 4 columns further; of the right one row lane % 4 of column lane / 4, then 4 below.
__device__ inline void multiply_tensor_floats(SumFragment& sums, const LeftFragment& left, std::uint32_t right_top,
                                              std::uint32_t right_bottom) {
  const std::uint32_t* a = left.squares;
  float* c = sums.values;
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(right_top), "r"(right_bottom));
}

// Two numbers rounded and side by side, the first in the lower half.
template <class T>
__device__ inline std::uint32_t pack_two(float low, float high) {
  if constexpr (std::is_same_v<T, __half>) {
    const __half2 two = __floats2half2_rn(low, high);
    return *reinterpret_cast<const std::uint32_t*>(&two);
  } else {
    const __nv_bfloat162 two = __floats2bfloat162_rn(low, high);
    return *reinterpret_cast<const std::uint32_t*>(&two);
  }
}

// 2^x to about 22 bits.
__device__ inline float fast_exp2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

}  // namespace cohort::kernels::cuda
