#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <utility>

namespace cohort::utils {

// The draws of numpy.random.RandomState, so that the same seed splits and shuffles as Keras does. Not thread-safe.
class NumpyRandomState {
 public:
  // With the state of RandomState(seed).
  //   seed: NumPy takes those from 0 to 2^32 - 1.
  explicit NumpyRandomState(std::uint32_t seed) : engine_(seed) {}

  // A number from 0 to `most`, as RandomState.shuffle draws it.
  std::uint64_t interval(std::uint64_t most);
  // Brings values into the order of RandomState.shuffle.
  template <class T>
  void shuffle(std::span<T> values) {
    for (std::size_t i = values.size(); i-- > 1;) {
      const auto other = static_cast<std::size_t>(interval(i));
      if (other != i) std::swap(values[i], values[other]);
    }
  }

 private:
  std::mt19937 engine_;  // seeded as NumPy seeds its own
};

}  // namespace cohort::utils
