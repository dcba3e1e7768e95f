#pragma once

#include <cstddef>

#include "cohort/kernels/cuda/copy_words.h"

namespace cohort::kernels::cuda {

// The copies of a plan, in the widest words that shapes and pointers allow.
CopyLaunch make_strided_copy(const CopyPlan& plan, std::size_t element_bytes);

// What it is made of. The elements of these plans are words of 1, 2, 4, 8 or 16 bytes, to which pointers are aligned.
CopyLaunch make_word_copy(const CopyPlan& plan, std::size_t word_bytes);
// Through tiles of shared memory, where the innermost axes of the two sides differ; empty where they do not, or are too
// short.
CopyLaunch make_tiled_copy(const CopyPlan& plan, std::size_t word_bytes);

}  // namespace cohort::kernels::cuda
