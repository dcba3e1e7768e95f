#pragma once

namespace cohort {

// Whether float32 products and convolutions of a GPU may round their operands to TensorFloat-32 (10 bits of mantissa,
// sums in float32): on at start, as in TensorFlow. Kernels keep to what was said when they were made.
void enable_tensor_float_32_execution(bool enabled);
// What enable_tensor_float_32_execution() was told last.
bool tensor_float_32_execution_enabled();

}  // namespace cohort
