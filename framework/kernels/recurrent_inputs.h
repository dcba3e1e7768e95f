#pragma once

#include "cohort/core/kernel.h"

namespace cohort::kernels {

// Numbers of the inputs behind the first `others` that the gradient of a recurrence may have: the mask, then the
// gradient of the whole sequence; -1 where one is not there.
struct RecurrentInputs {
  int mask, sequence;

  RecurrentInputs(const KernelSpec& spec, int others)
      : mask(spec.attr<bool>("masked") ? others : -1),
        sequence(spec.attr<bool>("sequence") ? others + (mask > 0 ? 1 : 0) : -1) {}
};

}  // namespace cohort::kernels
