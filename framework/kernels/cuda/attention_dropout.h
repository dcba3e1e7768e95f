#pragma once

#include <cstdint>

#include "cohort/core/random.h"
#include "cohort/kernels/cuda/attention_sizes.h"

namespace cohort::kernels::cuda {

// Which attention weights of one sample are dropped: PhiloxStream's numbers, as the op Dropout takes them.
class AttentionDropout {
 public:
  // The state is read only where weights are dropped.
  __device__ AttentionDropout(const RandomState* state, const AttentionSizes& sizes, std::int64_t sample)
      : threshold_(sizes.threshold), key_{}, sample_{} {
    if (threshold_ == 0) return;
    const std::uint64_t key = combine(combine(combine(state->seed, sizes.seed), state->epoch), state->step);
    const std::uint64_t global_sample = state->first_sample + static_cast<std::uint64_t>(sample);
    key_ = {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)};
    sample_ = {static_cast<std::uint32_t>(global_sample), static_cast<std::uint32_t>(global_sample >> 32)};
  }

  // Whether the weights at `first` and behind it, among those of the sample, are kept.
  template <int kCount>
  __device__ void find_kept(std::uint64_t first, bool (&kept)[kCount]) const {
    std::uint64_t block = first / 4;
    uint4 words = words_of(block);
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const std::uint64_t at = first + i;
      if (at / 4 != block) {
        block = at / 4;
        words = words_of(block);
      }
      const auto lane = static_cast<unsigned int>(at % 4);
      const std::uint32_t word = lane < 2 ? (lane == 0 ? words.x : words.y) : (lane == 2 ? words.z : words.w);
      kept[i] = word >= threshold_;
    }
  }

 private:
  __device__ static std::uint64_t mix(std::uint64_t x) {
    x += 0x9E3779B97F4A7C15u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
  }
  __device__ static std::uint64_t combine(std::uint64_t a, std::uint64_t b) { return mix(mix(a) + b); }

  __device__ uint4 words_of(std::uint64_t block) const {
    uint4 counter{static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32), sample_.x, sample_.y};
    uint2 key = key_;
#pragma unroll
    for (int round = 0; round < Philox::kRounds; ++round) {
      const std::uint32_t high0 = __umulhi(Philox::kMultiplier0, counter.x), low0 = Philox::kMultiplier0 * counter.x,
                          high1 = __umulhi(Philox::kMultiplier1, counter.z), low1 = Philox::kMultiplier1 * counter.z;
      counter = {high1 ^ counter.y ^ key.x, low1, high0 ^ counter.w ^ key.y, low0};
      key.x += Philox::kWeyl0;
      key.y += Philox::kWeyl1;
    }
    return counter;
  }

  std::uint64_t threshold_;
  uint2 key_, sample_;
};

}  // namespace cohort::kernels::cuda
