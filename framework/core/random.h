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
// Philox 4x32-10: four random words from a key and a counter.
std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key);

// Mixes values into one 64-bit hash (not cryptographic).
std::uint64_t hash_combine(std::uint64_t a, std::uint64_t b);

// A stream of random words for (state, op_seed, sample): counter-based, so any position is computed directly.
class PhiloxStream {
 public:
  PhiloxStream(const RandomState& state, std::uint64_t op_seed, std::uint64_t sample);
  // The four words at block `index` of this stream.
  std::array<std::uint32_t, 4> block(std::uint64_t index) const;
  // The same for all samples.
  const std::array<std::uint32_t, 2>& key() const { return key_; }

 private:
  std::array<std::uint32_t, 2> key_;
  std::array<std::uint32_t, 4> counter_;
};

// [0, 1) with 24 bits, so that the same bits give the same float everywhere.
inline float to_unit_float(std::uint32_t word) { return static_cast<float>(word >> 8) * 0x1p-24f; }
// (0, 1]: safe under a logarithm.
inline float to_open_unit_float(std::uint32_t word) { return (static_cast<float>(word >> 8) + 1.0f) * 0x1p-24f; }
// Two independent standard normal numbers (Box-Muller), the same bits on every machine.
std::array<float, 2> to_normal(std::uint32_t a, std::uint32_t b);

// Makes runs repeatable: seeds initializers, shuffles and random ops (as keras.utils.set_random_seed).
void set_random_seed(std::uint64_t seed);
// The seed set_random_seed() was given; without it a random one, the same for the whole process.
std::uint64_t global_seed();
// A seed for the next random op or initializer of this process; deterministic after set_random_seed.
std::uint64_t next_op_seed();

}  // namespace cohort
