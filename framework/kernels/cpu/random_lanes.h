#pragma once

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "cohort/core/random.h"
#include "cohort/kernels/cpu/vector_width.h"

namespace cohort {

// The random words of a tensor's elements in groups of four, worked out side by side. Group g of row
// r has the words of PhiloxStream(state, seed, r).block(g).
class RandomLanes {
 public:
  static constexpr int kLanes = 16;
  // words[i][lane]: word i of a group.
  using Words = std::uint32_t[4][kLanes];

  RandomLanes(const RandomState& state, std::uint64_t seed, std::int64_t groups_per_row)
      : key_(PhiloxStream(state, seed, 0).key()),
        first_sample_(state.first_sample),
        groups_(static_cast<std::uint64_t>(groups_per_row)) {}

  // The words of kLanes groups from `first` on, rows one after the other.
  void fill(std::int64_t first, Words& words) const {
    std::uint64_t sample = first_sample_ + static_cast<std::uint64_t>(first) / groups_;
    std::uint64_t group = static_cast<std::uint64_t>(first) % groups_;
    for (int lane = 0; lane < kLanes; ++lane) {
      words[0][lane] = static_cast<std::uint32_t>(group);
      words[1][lane] = static_cast<std::uint32_t>(group >> 32);
      words[2][lane] = static_cast<std::uint32_t>(sample);
      words[3][lane] = static_cast<std::uint32_t>(sample >> 32);
      if (++group == groups_) group = 0, ++sample;
    }
    mix(words);
  }

 private:
#if defined(__x86_64__)
  static constexpr int kVectors = kLanes * static_cast<int>(sizeof(std::uint32_t)) / kVectorBytes;
  typedef std::uint32_t Vector __attribute__((vector_size(kVectorBytes)));
  typedef std::uint64_t Pairs __attribute__((vector_size(kVectorBytes)));
  struct Product {
    Vector high, low;
  };

  // All rounds. Of the loop below g++ makes one product after the other here.
  void mix(Words& words) const {
    Vector x[4][kVectors];
    std::memcpy(x, words, sizeof x);
    std::array<std::uint32_t, 2> key = key_;
    for (int round = 0; round < Philox::kRounds; ++round) {
      for (int v = 0; v < kVectors; ++v) {
        const Product product0 = multiply(x[0][v], Philox::kMultiplier0);
        const Product product1 = multiply(x[2][v], Philox::kMultiplier1);
        x[0][v] = product1.high ^ x[1][v] ^ key[0];
        x[1][v] = product1.low;
        x[2][v] = product0.high ^ x[3][v] ^ key[1];
        x[3][v] = product0.low;
      }
      key[0] += Philox::kWeyl0;
      key[1] += Philox::kWeyl1;
    }
    std::memcpy(words, x, sizeof x);
  }
  static Product multiply(Vector x, std::uint32_t factor) {
    const Pairs pairs = (Pairs)x, factors = Pairs{} + factor, low_half = Pairs{} + 0xffffffffu;
    const Pairs even = multiply_low_halves(pairs, factors), odd = multiply_low_halves(pairs >> 32, factors);
    return {(Vector)((even >> 32) | (odd & ~low_half)), (Vector)((even & low_half) | (odd << 32))};
  }
  static Pairs multiply_low_halves(Pairs a, Pairs b) {
#if defined(__AVX512F__)
    return (Pairs)_mm512_maskz_mul_epu32(0xff, (__m512i)a, (__m512i)b);
#elif defined(__AVX2__) && defined(__FMA__)
    return (Pairs)_mm256_mul_epu32((__m256i)a, (__m256i)b);
#else
    return (Pairs)_mm_mul_epu32((__m128i)a, (__m128i)b);
#endif
  }
#else
  void mix(Words& words) const {
    std::array<std::uint32_t, 2> key = key_;
    for (int round = 0; round < Philox::kRounds; ++round) {
      for (int lane = 0; lane < kLanes; ++lane) {
        const std::uint64_t product0 = std::uint64_t{Philox::kMultiplier0} * words[0][lane];
        const std::uint64_t product1 = std::uint64_t{Philox::kMultiplier1} * words[2][lane];
        words[0][lane] = static_cast<std::uint32_t>(product1 >> 32) ^ words[1][lane] ^ key[0];
        words[1][lane] = static_cast<std::uint32_t>(product1);
        words[2][lane] = static_cast<std::uint32_t>(product0 >> 32) ^ words[3][lane] ^ key[1];
        words[3][lane] = static_cast<std::uint32_t>(product0);
      }
      key[0] += Philox::kWeyl0;
      key[1] += Philox::kWeyl1;
    }
  }
#endif

  const std::array<std::uint32_t, 2> key_;
  const std::uint64_t first_sample_, groups_;
};

}  // namespace cohort
