#include "cohort/core/random.h"

#include <mutex>
#include <random>

#include "cohort/core/normal_numbers.h"

namespace cohort {
namespace {

struct Seeds {
  std::mutex mutex;
  std::uint64_t global = 0;
  std::uint64_t given = 0;  // how many op seeds were handed out since the global seed was set
};

// Unseeded runs differ, as in Keras. Never destroyed: initializers may run while statics go down.
Seeds& seeds() {
  static Seeds* seeds = [] {
    auto* fresh = new Seeds;
    std::random_device entropy;
    fresh->global = (std::uint64_t{entropy()} << 32) | entropy();
    return fresh;
  }();
  return *seeds;
}

}  // namespace

std::array<float, 2> to_normal(std::uint32_t a, std::uint32_t b) { return normal_numbers::from_words(a, b); }

void set_random_seed(std::uint64_t seed) {
  Seeds& all = seeds();
  std::lock_guard lock(all.mutex);
  all.global = seed;
  all.given = 0;
}

std::uint64_t global_seed() {
  Seeds& all = seeds();
  std::lock_guard lock(all.mutex);
  return all.global;
}

std::uint64_t next_op_seed() {
  Seeds& all = seeds();
  std::lock_guard lock(all.mutex);
  return hash_combine(all.global, ++all.given);
}

}  // namespace cohort
