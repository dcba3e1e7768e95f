#pragma once

#include "cohort/core/kernel.h"

namespace cohort {

// For a device that has no kernel of its own for an op: the CPU's, on copies of what it reads and writes. It waits for
// the device, so that work with it cannot be recorded.
KernelFn make_host_kernel(const KernelSpec& spec);

}  // namespace cohort
