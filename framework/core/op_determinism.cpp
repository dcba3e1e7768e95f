#include "cohort/core/op_determinism.h"

#include <atomic>

namespace cohort {
namespace {

std::atomic<bool> op_determinism{false};

}  // namespace

void enable_op_determinism(bool enabled) { op_determinism = enabled; }
bool op_determinism_enabled() { return op_determinism; }

}  // namespace cohort
