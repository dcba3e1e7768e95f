#pragma once

#if defined(__CUDACC__)
#define COHORT_DEVICE __device__
#else
#define COHORT_DEVICE
#endif

namespace cohort::cuda {

// Memory of the device in which a kernel says that it met a value it must refuse: the first one is kept. `site` tells
// which check it was (CudaDevice::add_check), 0 that all is well.
struct ErrorRecord {
  unsigned int site;
  long long position;
  long long value;
};

#if defined(__CUDACC__)
__device__ inline void report(ErrorRecord* record, unsigned int site, long long position, long long value) {
  if (atomicCAS(&record->site, 0u, site) != 0u) return;
  record->position = position;
  record->value = value;
}
#endif

}  // namespace cohort::cuda
