#pragma once

#include <memory>

#include "cohort/core/kernel.h"

namespace cohort {

// The kernel for a spec, from a bounded cache: op by op, the same calls come again and again, and making a kernel may
// take longer than running it. It lives at least until the work that the caller begins with it is done. Thread-safe.
std::shared_ptr<const KernelFn> cached_kernel(const KernelSpec& spec);

}  // namespace cohort
