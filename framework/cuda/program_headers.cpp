#include "cohort/cuda/program_headers.h"

namespace cohort::cuda {

std::span<const ProgramHeader> program_headers() {
  static constexpr ProgramHeader kHeaders[] = {
#include "cohort/cuda/program_headers.inc"
  };
  return kHeaders;
}

}  // namespace cohort::cuda
