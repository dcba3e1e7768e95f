#include "cohort/kernels/cuda/strided_copy.h"

namespace cohort::kernels::cuda {
namespace {

CopyLaunch make_copy(const CopyPlan& plan, std::size_t word_bytes) {
  CopyLaunch tiled = make_tiled_copy(plan, word_bytes);
  return tiled ? tiled : make_word_copy(plan, word_bytes);
}

}  // namespace

CopyLaunch make_strided_copy(const CopyPlan& plan, std::size_t element_bytes) {
  if (plan.total == 0) return [](const void*, void*, cudaStream_t) {};
  CopyLaunch by_element = make_copy(plan, element_bytes);
  const std::int64_t elements = elements_of_word(plan, element_bytes);
  if (elements == 1) return by_element;
  const std::size_t bytes = element_bytes * static_cast<std::size_t>(elements);
  return by_alignment(bytes, make_copy(in_words(plan, elements), bytes), by_element);
}

}  // namespace cohort::kernels::cuda
