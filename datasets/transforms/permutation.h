#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "cohort/core/random.h"

namespace cohort::datasets {

// A random order of the numbers below `count`, any of which is worked out by itself: a Feistel network over the
// smallest number of bits that holds them, walked until it comes out below `count`.
class Permutation {
 public:
  // The order that this stream of random words chooses.
  Permutation(std::uint64_t count, const PhiloxStream& stream) : count_(count) {
    const int bits = std::max(kLeastBits, static_cast<int>(std::bit_width(count == 0 ? 0 : count - 1)));
    right_bits_ = bits / 2;
    left_bits_ = bits - right_bits_;
    for (std::size_t i = 0; i < kRounds; i += 2) {
      const std::array<std::uint32_t, 4> words = stream.block(i / 2);
      keys_[i] = (std::uint64_t{words[0]} << 32) | words[1];
      keys_[i + 1] = (std::uint64_t{words[2]} << 32) | words[3];
    }
  }

  // What stands at `position`, which is below `count`.
  std::uint64_t operator()(std::uint64_t position) const {
    do position = once(position);
    while (position >= count_);
    return position;
  }

 private:
  static constexpr std::size_t kRounds = 6;
  static constexpr int kLeastBits = 10;  // of fewer, some orders come more often than others

  // Rounds change the left part by the right one and the right part by the left one in turn, so that their widths may
  // differ.
  std::uint64_t once(std::uint64_t x) const {
    std::uint64_t left = x >> right_bits_, right = x & ((std::uint64_t{1} << right_bits_) - 1);
    for (std::size_t round = 0; round < kRounds; round += 2) {
      left ^= mixed(right, keys_[round]) >> (64 - left_bits_);
      right ^= mixed(left, keys_[round + 1]) >> (64 - right_bits_);
    }
    return (left << right_bits_) | right;
  }
  static std::uint64_t mixed(std::uint64_t x, std::uint64_t key) {
    x = (x + key) * 0xBF58476D1CE4E5B9u;
    return (x ^ (x >> 32)) * 0x94D049BB133111EBu;
  }

  std::uint64_t count_;
  int left_bits_, right_bits_;
  std::array<std::uint64_t, kRounds> keys_;
};

}  // namespace cohort::datasets
