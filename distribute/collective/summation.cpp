#include "cohort/distribute/collective/summation.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "cohort/distribute/collective/reduction.h"

namespace cohort::distribute {
namespace {

// Elements that are added before any is written: they stay in the first cache.
constexpr std::int64_t kBlock = 2048;

template <class T>
void sum_elements(std::span<const void* const> inputs, std::span<void* const> outputs, std::int64_t first,
                  std::int64_t last) {
  std::array<collective::SumOf<T>, kBlock> sums;
  std::array<T, kBlock> rounded;
  for (std::int64_t begin = first; begin < last; begin += kBlock) {
    const std::int64_t count = std::min(kBlock, last - begin);
    const T* input = static_cast<const T*>(inputs[0]) + begin;
    for (std::int64_t i = 0; i < count; ++i)
      sums[static_cast<std::size_t>(i)] = static_cast<collective::SumOf<T>>(input[i]);
    for (std::size_t k = 1; k < inputs.size(); ++k) {
      input = static_cast<const T*>(inputs[k]) + begin;
      for (std::int64_t i = 0; i < count; ++i)
        sums[static_cast<std::size_t>(i)] += static_cast<collective::SumOf<T>>(input[i]);
    }
    for (std::int64_t i = 0; i < count; ++i) {
      rounded[static_cast<std::size_t>(i)] = static_cast<T>(sums[static_cast<std::size_t>(i)]);
    }
    for (void* output : outputs) {
      std::memcpy(static_cast<T*>(output) + begin, rounded.data(), static_cast<std::size_t>(count) * sizeof(T));
    }
  }
}

}  // namespace

void sum_range(DType dtype, std::span<const void* const> inputs, std::span<void* const> outputs, std::int64_t first,
               std::int64_t last) {
  collective::visit_summable(dtype, [&]<class T>(T) { sum_elements<T>(inputs, outputs, first, last); });
}

}  // namespace cohort::distribute
