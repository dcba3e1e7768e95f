#pragma once

#include <cstddef>
#include <cstdint>

#include "cohort/kernels/cuda/copy_words.h"
#include "cohort/kernels/movement_plans.h"

namespace cohort::kernels::cuda {

// Writes a tensor of shape `whole`: the elements of a dense tensor in its ranges, everywhere else the lowest bytes of
// `value`.
CopyLaunch make_padded_copy(const Shape& whole, const Ranges& ranges, std::uint64_t value, std::size_t element_bytes);

}  // namespace cohort::kernels::cuda
