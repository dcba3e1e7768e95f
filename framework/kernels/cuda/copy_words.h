#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <functional>

#include "cohort/kernels/copy_plan.h"

namespace cohort::kernels::cuda {

// What movements have in common: neighbouring elements that stay neighbours are moved as one word of up to 16 bytes.

inline constexpr std::size_t kWidestWord = 16;
// Positions up to here, and one more round of a block's threads, fit 32 bits.
inline constexpr std::int64_t kLargestNarrow = (std::int64_t{1} << 31) - (std::int64_t{1} << 16);

// Copies on a stream from one place to another; the two do not overlap.
using CopyLaunch = std::function<void(const void* from, void* to, cudaStream_t stream)>;
// `wide` where both pointers are aligned to so many bytes, else `narrow`.
CopyLaunch by_alignment(std::size_t bytes, CopyLaunch wide, CopyLaunch narrow);

// The largest power of two, at most `limit`, that divides all numbers it is asked about.
class CommonPower {
 public:
  explicit CommonPower(std::int64_t limit) : power_(limit) {}
  CommonPower& divides(std::int64_t number) {
    while (number % power_ != 0) power_ /= 2;
    return *this;
  }
  std::int64_t power() const { return power_; }

 private:
  std::int64_t power_;
};

// Elements of one word of the copy.
std::int64_t elements_of_word(const CopyPlan& plan, std::size_t element_bytes);
// The same copy in words of that many elements.
CopyPlan in_words(CopyPlan plan, std::int64_t elements);

// Whether all positions on both sides and their number fit 32 bits.
bool is_narrow(const CopyPlan& plan);

}  // namespace cohort::kernels::cuda
