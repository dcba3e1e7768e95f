#pragma once

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include <cstdint>
#include <cstring>

#include "cohort/kernels/cpu/vector_width.h"

namespace cohort::kernels {

// Small numbers that lie as bytes and are compared as 32-bit integers, as many as a vector register holds.
struct ByteLanes {
  typedef std::int32_t Integers __attribute__((vector_size(kVectorBytes)));
  static constexpr int kCount = kVectorBytes / 4;

  // Of what g++ makes of a conversion of vectors, AVX would put it together in memory, and wait for it.
  static Integers load(const std::uint8_t* from) {
#if defined(__AVX512F__)
    return (Integers)_mm512_maskz_cvtepu8_epi32(0xffff, _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
#elif defined(__AVX2__)
    return (Integers)_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from)));
#else
    Integers wide;
    for (int i = 0; i < kCount; ++i) wide[i] = from[i];
    return wide;
#endif
  }
  static void store(Integers value, std::uint8_t* to) {
    std::int32_t wide[kCount];
    std::memcpy(wide, &value, sizeof wide);
    for (int i = 0; i < kCount; ++i) to[i] = static_cast<std::uint8_t>(wide[i]);
  }
};

}  // namespace cohort::kernels
