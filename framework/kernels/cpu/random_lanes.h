#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "cohort/core/random.h"

namespace cohort {

// The random words of a tensor's elements in groups of four, which the compiler works out side by side. Group g of row
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

 private:
  const std::array<std::uint32_t, 2> key_;
  const std::uint64_t first_sample_, groups_;
};

}  // namespace cohort
