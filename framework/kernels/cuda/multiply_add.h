#pragma once

#include <cstdint>

namespace cohort::kernels::cuda {

// a * b + c, of floating types in one rounding (the compiler is told not to do so by itself).
__device__ inline float multiply_add(float a, float b, float c) { return fmaf(a, b, c); }
__device__ inline double multiply_add(double a, double b, double c) { return fma(a, b, c); }
__device__ inline std::uint32_t multiply_add(std::uint32_t a, std::uint32_t b, std::uint32_t c) { return a * b + c; }
__device__ inline std::uint64_t multiply_add(std::uint64_t a, std::uint64_t b, std::uint64_t c) { return a * b + c; }

}  // namespace cohort::kernels::cuda
