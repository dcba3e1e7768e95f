#pragma once

#include <cstdint>

#include "cohort/kernels/cpu/gemm.h"

namespace cohort {

// Matrix products so small that BLAS's set-up would cost more than the arithmetic: b is laid out in strips on the
// stack, rows of a are taken four at a time. T: float, double.
template <class T>
class SmallGemm {
 public:
  static bool suits(const GemmShape& shape);
  static void run(const GemmShape& shape, const T* a, const T* b, T* c);
};

}  // namespace cohort
