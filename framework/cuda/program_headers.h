#pragma once

#include <span>

#include "cohort/cuda/nvrtc.h"

namespace cohort::cuda {

// The headers of ours that programs made at run time include, as they were when this was compiled.
std::span<const ProgramHeader> program_headers();

}  // namespace cohort::cuda
