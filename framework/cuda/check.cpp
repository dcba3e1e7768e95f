#include "cohort/cuda/check.h"

#include <string>

#include "cohort/core/error.h"

namespace cohort::cuda {

void check(cudaError_t error, std::source_location place) {
  if (error == cudaSuccess) return;
  (void)cudaGetLastError();  // those that leave nothing broken are over with this
  const std::string where = std::string(place.file_name()) + ":" + std::to_string(place.line());
  if (error == cudaErrorMemoryAllocation) {
    throw Error(ErrorCode::ResourceExhausted, "GPU", "memory of the device is expected", {{"place", where}},
                "Make batches or models smaller, or end other programs that use it.");
  }
  throw internal_error("GPU", cudaGetErrorString(error), {{"error", cudaGetErrorName(error)}, {"place", where}});
}

}  // namespace cohort::cuda
