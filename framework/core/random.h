#pragma once

#include <array>
#include <cstdint>

namespace cohort {

// Where in a run a random op draws: together with the op's own seed and the index of the sample in the global batch it
// decides every number, whatever the number of threads, replicas or retries.
struct RandomState {
  // The run's seed.
  std::uint64_t seed = 0;
  // The epoch, counted from 0.
  std::uint64_t epoch = 0;
  // The step within the epoch, counted from 0.
  std::uint64_t step = 0;
  std::uint64_t first_sample = 0;  // index in the global batch of this batch's first row
};

// The numbers that define Philox 4x32-10.
struct Philox {
  static constexpr std::uint32_t kMultiplier0 = 0xD2511F53u, kMultiplier1 = 0xCD9E8D57u;
  static constexpr std::uint32_t kWeyl0 = 0x9E3779B9u, kWeyl1 = 0xBB67AE85u;
  static constexpr int kRounds = 10;
};
// Philox 4x32-10: four random words from a key and a counter. Like all here that makes numbers it is constexpr: kernels
// of a GPU are compiled from the same text.
constexpr std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
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

// The finaliser of splitmix64: every input bit reaches every output bit.
constexpr std::uint64_t hash_mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}
// Mixes values into one 64-bit hash (not cryptographic).
constexpr std::uint64_t hash_combine(std::uint64_t a, std::uint64_t b) { return hash_mix(hash_mix(a) + b); }

// Where turn number `turn` of a loop draws: other numbers than the turns beside it.
constexpr RandomState turn_of(const RandomState& loop, std::uint64_t turn) {
  RandomState state = loop;
  state.seed = hash_combine(loop.seed, turn + 1);
  return state;
}

// A stream of random words for (state, op_seed, sample): counter-based, so any position is computed directly.
class PhiloxStream {
 public:
  constexpr PhiloxStream(const RandomState& state, std::uint64_t op_seed, std::uint64_t sample)
      : PhiloxStream(key_of(state, op_seed), state.first_sample + sample) {}
  // The stream of a sample, by its index in the global batch, with a key that is known. The sample stands unhashed in
  // the counter: within one call of an op no two samples can share a stream.
  constexpr PhiloxStream(const std::array<std::uint32_t, 2>& key, std::uint64_t global_sample)
      : key_(key),
        sample_{static_cast<std::uint32_t>(global_sample), static_cast<std::uint32_t>(global_sample >> 32)} {}
  // The four words at block `index` of this stream.
  constexpr std::array<std::uint32_t, 4> block(std::uint64_t index) const {
    return philox({static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32), sample_[0], sample_[1]},
                  key_);
  }
  // The same for all samples.
  constexpr const std::array<std::uint32_t, 2>& key() const { return key_; }

 private:
  static constexpr std::array<std::uint32_t, 2> key_of(const RandomState& state, std::uint64_t op_seed) {
    const std::uint64_t key = hash_combine(hash_combine(hash_combine(state.seed, op_seed), state.epoch), state.step);
    return {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)};
  }

  std::array<std::uint32_t, 2> key_, sample_;
};

// [0, 1) with 24 bits, so that the same bits give the same float everywhere.
constexpr float to_unit_float(std::uint32_t word) { return static_cast<float>(word >> 8) * 0x1p-24f; }
// (0, 1]: safe under a logarithm.
constexpr float to_open_unit_float(std::uint32_t word) { return (static_cast<float>(word >> 8) + 1.0f) * 0x1p-24f; }
// Two independent standard normal numbers (Box-Muller), the same bits on every machine.
std::array<float, 2> to_normal(std::uint32_t a, std::uint32_t b);

// Makes runs repeatable: seeds initializers, shuffles and random ops (as keras.utils.set_random_seed).
void set_random_seed(std::uint64_t seed);
// The seed set_random_seed() was given; without it a random one, the same for the whole process.
std::uint64_t global_seed();
// A seed for the next random op or initializer of this process; deterministic after set_random_seed.
std::uint64_t next_op_seed();

}  // namespace cohort
