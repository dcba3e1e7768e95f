#pragma once

namespace cohort {

// Bytes of the widest vector registers that this source is compiled for. Each level of the CPU has its own.
#if defined(__AVX512F__)
inline constexpr int kVectorBytes = 64;
#elif defined(__AVX2__) && defined(__FMA__)
inline constexpr int kVectorBytes = 32;
#else
inline constexpr int kVectorBytes = 16;
#endif

}  // namespace cohort
