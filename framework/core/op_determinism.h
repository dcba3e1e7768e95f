#pragma once

namespace cohort {

// Whether ops must give the same bits each time they run, at the cost of time and memory: off at start, as in
// TensorFlow. Nearly all do in any case; some of the libraries' fastest kernels for GPUs do not. Kernels keep to what
// was said when they were made.
void enable_op_determinism(bool enabled = true);
// What enable_op_determinism() was told last.
bool op_determinism_enabled();

}  // namespace cohort
