#include "cohort/core/tensor_float_32.h"

#include <atomic>

namespace cohort {
namespace {

std::atomic<bool> tensor_float_32{true};

}  // namespace

void enable_tensor_float_32_execution(bool enabled) { tensor_float_32 = enabled; }
bool tensor_float_32_execution_enabled() { return tensor_float_32; }

}  // namespace cohort
