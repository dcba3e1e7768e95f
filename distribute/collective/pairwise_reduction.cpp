#include "cohort/distribute/collective/pairwise_reduction.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "cohort/distribute/collective/reduction.h"

namespace cohort::distribute {
namespace {

// Elements that are added before any is written: a level of the tree stays in the first cache.
constexpr std::int64_t kPairBlock = 1024;

template <class T>
using PairSums = std::array<collective::SumOf<T>, kPairBlock>;

// The sums of elements [begin, begin + count) of the inputs: those of the first half and those of the rest.
template <class T>
void add_pairs(std::span<const void* const> inputs, std::int64_t begin, std::int64_t count, PairSums<T>& sums) {
  if (inputs.size() == 1) {
    const T* input = static_cast<const T*>(inputs[0]) + begin;
    for (std::int64_t i = 0; i < count; ++i)
      sums[static_cast<std::size_t>(i)] = static_cast<collective::SumOf<T>>(input[i]);
    return;
  }
  const std::size_t half = (inputs.size() + 1) / 2;
  PairSums<T> others;
  add_pairs<T>(inputs.first(half), begin, count, sums);
  add_pairs<T>(inputs.subspan(half), begin, count, others);
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) sums[i] += others[i];
}

template <class T>
void sum_pairs(std::span<const void* const> inputs, std::span<void* const> outputs, std::int64_t first,
               std::int64_t last) {
  PairSums<T> sums;
  std::array<T, kPairBlock> rounded;
  for (std::int64_t begin = first; begin < last; begin += kPairBlock) {
    const std::int64_t count = std::min(kPairBlock, last - begin);
    add_pairs<T>(inputs, begin, count, sums);
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) rounded[i] = static_cast<T>(sums[i]);
    for (void* output : outputs) {
      std::memcpy(static_cast<T*>(output) + begin, rounded.data(), static_cast<std::size_t>(count) * sizeof(T));
    }
  }
}

}  // namespace

void PairwiseReduction::reduce(int replica, DType dtype, std::int64_t elements, std::span<const void* const> inputs,
                               std::span<void* const> outputs) const {
  const auto replicas = static_cast<std::int64_t>(outputs.size());
  const std::int64_t first = elements * replica / replicas, last = elements * (replica + 1) / replicas;
  collective::visit_summable(dtype, [&]<class T>(T) { sum_pairs<T>(inputs, outputs, first, last); });
}

}  // namespace cohort::distribute
