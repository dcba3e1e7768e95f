#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <utility>

namespace cohort::utils {

// The draws of Python's module random, so that the same seed splits as Keras does. Not thread-safe.
class PythonRandom {
 public:
  // With the state of random.seed(seed), for which a number and its negative are the same.
  explicit PythonRandom(std::int64_t seed);

  // A number below `count`, which is at least 1.
  std::uint64_t below(std::uint64_t count);
  // Brings values into the order of random.shuffle.
  template <class T>
  void shuffle(std::span<T> values) {
    for (std::size_t i = values.size(); i-- > 1;) std::swap(values[i], values[static_cast<std::size_t>(below(i + 1))]);
  }

 private:
  std::uint64_t bits(int count);

  std::mt19937 engine_;
};

}  // namespace cohort::utils
