#pragma once

#include "cohort/kernels/cuda/attention_sizes.h"

namespace cohort::kernels::cuda {

// Makes attention or its gradient by a library, of sizes that suit tensor cores and memory aligned to 16 bytes; gives
// nothing where the library is missing or has no way to compute it.
using LibraryAttentionMaker = KernelFn (*)(const KernelSpec& spec, const AttentionSizes& sizes);

// Where attention of half types is asked for before own kernels are: empty in a build without cuDNN's frontend. Both
// directions keep the same rows, so one may take the library and the other not.
struct LibraryAttention {
  LibraryAttentionMaker forward = nullptr, gradient = nullptr;
};
LibraryAttention& library_attention();

}  // namespace cohort::kernels::cuda
