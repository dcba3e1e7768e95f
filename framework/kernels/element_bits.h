#pragma once

// Elements as programs see them that are compiled at run time for a GPU, where none of CUDA's headers is at hand:
// 16-bit floats by their bits, converted by the instructions that CUDA's own types use.

namespace cohort::bits {

struct Half {
  unsigned short bits;
};
struct BFloat16 {
  unsigned short bits;
};

template <class T>
struct Element {
  using Compute = T;
  static __device__ T widen(T x) { return x; }
  static __device__ T narrow(T x) { return x; }
};
template <>
struct Element<Half> {
  using Compute = float;
  static __device__ float widen(Half x) {
    float y;
    asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));
    return y;
  }
  static __device__ Half narrow(float x) {
    Half y;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
    return y;
  }
};
template <>
struct Element<BFloat16> {
  using Compute = float;
  static __device__ float widen(BFloat16 x) { return __uint_as_float(static_cast<unsigned int>(x.bits) << 16); }
  static __device__ BFloat16 narrow(float x) {
    BFloat16 y;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
    return y;
  }
};

// What arithmetic on elements of type T happens in.
template <class T>
using Compute = typename Element<T>::Compute;

template <class T>
__device__ inline Compute<T> widened(T x) {
  return Element<T>::widen(x);
}
template <class T>
__device__ inline T narrowed(Compute<T> x) {
  return Element<T>::narrow(x);
}
// What is left of a result that is kept as an element.
template <class T>
__device__ inline Compute<T> rounded(Compute<T> x) {
  return widened(narrowed<T>(x));
}

// As many elements as a thread takes at once, moved by accesses of 16 bytes where there are that many.
template <class T, int kCount>
struct alignas(sizeof(T) * kCount < 16 ? sizeof(T) * kCount : 16) Pack {
  T values[kCount];
};

template <class T, int kCount, class Index>
__device__ inline Pack<T, kCount> load(const void* memory, Index at) {
  return *reinterpret_cast<const Pack<T, kCount>*>(static_cast<const T*>(memory) + at);
}
template <class T, int kCount, class Index>
__device__ inline void store(void* memory, Index at, const Pack<T, kCount>& pack) {
  *reinterpret_cast<Pack<T, kCount>*>(static_cast<T*>(memory) + at) = pack;
}

}  // namespace cohort::bits
