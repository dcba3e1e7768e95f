#pragma once

#include <cstring>

#include "cohort/kernels/cuda/elementwise.h"

namespace cohort::kernels::cuda {

// Packs of elements of a type that is computed in float, as they are stored: each by one access to memory.
template <class T, int packs>
struct StoredPacks {
  static constexpr int kPacks = packs, kCount = kPerAccess<T>;
  static_assert(sizeof(uint4) == kAccessBytes && sizeof(Pack<T, kCount>) == kAccessBytes);

  // Number k begins at `at(k)`; its elements are zeros if it does not exist. Elements are widened whether they exist or
  // not, so that nothing but the access depends on it.
  template <class At, class Exists>
  __device__ void load(const T* from, const At& at, const Exists& exists) {
#pragma unroll
    for (int k = 0; k < kPacks; ++k) {
      words[k] = make_uint4(0, 0, 0, 0);
      if (exists(k)) words[k] = *reinterpret_cast<const uint4*>(from + at(k));
    }
  }
  __device__ float element(int k, int j) const {
    Pack<T, kCount> pack;
    memcpy(&pack, &words[k], sizeof(pack));
    return widened(pack.values[j]);
  }
  // Makes the compiler widen elements anew where they are used from here on: as floats, those of 16-bit types would
  // take twice the registers in between.
  __device__ void stay_packed() {
#pragma unroll
    for (uint4& word : words) asm volatile("" : "+r"(word.x), "+r"(word.y), "+r"(word.z), "+r"(word.w));
  }

  uint4 words[kPacks];
};

}  // namespace cohort::kernels::cuda
