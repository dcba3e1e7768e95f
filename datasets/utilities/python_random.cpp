#include "cohort/datasets/utilities/python_random.h"

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

namespace cohort::utils {
namespace {

// The state that the generator's authors make of a key of several words, to begin with.
class StateOfKey {
 public:
  using result_type = std::uint32_t;

  explicit StateOfKey(std::uint64_t key)
      : key_{static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)} {}

  template <class Iterator>
  void generate(Iterator begin, Iterator) const {
    constexpr std::uint32_t kFirst = 19650218u, kLinear = 1812433253u, kWithKey = 1664525u, kWithoutKey = 1566083941u;
    const std::size_t words = key_[1] == 0 ? 1 : 2;
    std::array<std::uint32_t, kWords> state;
    state[0] = kFirst;
    for (std::uint32_t i = 1; i < kWords; ++i) state[i] = kLinear * mixed(state[i - 1]) + i;
    std::uint32_t i = 1;
    const auto advance = [&] {
      if (++i < kWords) return;
      state[0] = state[kWords - 1];
      i = 1;
    };
    for (std::uint32_t step = 0; step < kWords; ++step) {
      const auto j = static_cast<std::uint32_t>(step % words);
      state[i] = (state[i] ^ (mixed(state[i - 1]) * kWithKey)) + key_[j] + j;
      advance();
    }
    for (std::uint32_t step = 1; step < kWords; ++step) {
      state[i] = (state[i] ^ (mixed(state[i - 1]) * kWithoutKey)) - i;
      advance();
    }
    state[0] = 0x80000000u;
    std::copy(state.begin(), state.end(), begin);
  }

 private:
  static constexpr std::uint32_t kWords = std::mt19937::state_size;
  static std::uint32_t mixed(std::uint32_t word) { return word ^ (word >> 30); }

  std::array<std::uint32_t, 2> key_;
};

std::mt19937 seeded(std::int64_t seed) {
  const auto bits = static_cast<std::uint64_t>(seed);
  StateOfKey state(seed < 0 ? 0 - bits : bits);
  return std::mt19937(state);
}

}  // namespace

PythonRandom::PythonRandom(std::int64_t seed) : engine_(seeded(seed)) {}

std::uint64_t PythonRandom::bits(int count) {
  if (count <= 32) return engine_() >> (32 - count);
  const std::uint64_t low = engine_();
  return low | std::uint64_t{engine_() >> (64 - count)} << 32;
}

std::uint64_t PythonRandom::below(std::uint64_t count) {
  const int width = static_cast<int>(std::bit_width(count));
  std::uint64_t drawn = bits(width);
  while (drawn >= count) drawn = bits(width);
  return drawn;
}

}  // namespace cohort::utils
