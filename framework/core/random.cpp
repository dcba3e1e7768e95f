#include "cohort/core/random.h"

#include <mutex>
#include <random>

#include "cohort/core/normal_numbers.h"

namespace cohort {
namespace {

// The finaliser of splitmix64: every input bit reaches every output bit.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

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

std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < Philox::kRounds; ++round) {
    const std::uint64_t product0 = std::uint64_t{Philox::kMultiplier0} * counter[0];
    const std::uint64_t product1 = std::uint64_t{Philox::kMultiplier1} * counter[2];
    counter = {static_cast<std::uint32_t>(product1 >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(product1),
               static_cast<std::uint32_t>(product0 >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(product0)};
    key[0] += Philox::kWeyl0;
    key[1] += Philox::kWeyl1;
  }
  return counter;
}

std::uint64_t hash_combine(std::uint64_t a, std::uint64_t b) { return mix(mix(a) + b); }

// The sample stands unhashed in the counter: within one call of an op no two samples can share a stream.
PhiloxStream::PhiloxStream(const RandomState& state, std::uint64_t op_seed, std::uint64_t sample) {
  const std::uint64_t key = hash_combine(hash_combine(hash_combine(state.seed, op_seed), state.epoch), state.step);
  const std::uint64_t global_sample = state.first_sample + sample;
  key_ = {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)};
  counter_ = {0, 0, static_cast<std::uint32_t>(global_sample), static_cast<std::uint32_t>(global_sample >> 32)};
}

std::array<std::uint32_t, 4> PhiloxStream::block(std::uint64_t index) const {
  return philox({static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32), counter_[2], counter_[3]},
                key_);
}

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
