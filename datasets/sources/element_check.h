#pragma once

#include <cstdint>

#include "cohort/core/op.h"
#include "cohort/core/tensor.h"

namespace cohort::datasets {

// Throws unless the leaves of an element have values and are of these types and shapes.
//   who: whose element it is, for errors.
//   number: of the element, for errors.
void check_element(const char* who, const Specs& specs, const Tensors& element, std::uint64_t number);

}  // namespace cohort::datasets
