#pragma once

#include <cstdint>

#include "cohort/cuda/cuda_device.h"
#include "cohort/kernels/cuda/typed_elements.h"
#include "cohort/kernels/refusals.h"

namespace cohort::kernels::cuda {

// Labels that lie in [0, classes); others are reported and become -1.
struct CheckedLabels {
  TypedElements<std::int64_t> labels;
  std::int64_t classes;
  cohort::cuda::ErrorRecord* errors;
  unsigned int site;

  __device__ std::int64_t operator[](std::int64_t row) const {
    const std::int64_t label = labels[row];
    if (label >= 0 && label < classes) return label;
    cohort::cuda::report(errors, site, row, label);
    return -1;
  }
};

// The check of labels that a kernel adds when it is made.
inline unsigned int add_label_check(const KernelSpec& spec, std::int64_t classes) {
  return cohort::cuda::add_check(spec, [classes](std::int64_t row, std::int64_t label) {
    refuse_label("SparseSoftmaxCrossEntropy", row, label, classes);
  });
}

}  // namespace cohort::kernels::cuda
