#pragma once

#include <array>
#include <cstdint>

#include "cohort/core/normal_numbers.h"
#include "cohort/core/random.h"
#include "cohort/kernels/cuda/launch.h"

namespace cohort::kernels::cuda {

// Words of one block of the stream.
constexpr int kInGroup = 4;
using RandomWords = std::array<std::uint32_t, kInGroup>;

// The random words of one call of an op: those of PhiloxStream, its key worked out once for each thread.
class RandomSource {
 public:
  __device__ RandomSource(const RandomState& state, std::uint64_t seed)
      : key_(PhiloxStream(state, seed, 0).key()), first_sample_(state.first_sample) {}
  // Block `index` of the stream that sample `row` of this batch has.
  __device__ RandomWords block(std::int64_t row, std::uint64_t index) const {
    return PhiloxStream(key_, first_sample_ + static_cast<std::uint64_t>(row)).block(index);
  }

 private:
  std::array<std::uint32_t, 2> key_;
  std::uint64_t first_sample_;
};

// Four standard normal numbers from four words, as to_normal() makes them of two.
__device__ inline void to_normals(const RandomWords& words, float (&numbers)[4]) {
#pragma unroll
  for (int half = 0; half < 4; half += 2) {
    const float radius = sqrtf(-2.0f * normal_numbers::log_of_unit(to_open_unit_float(words[half])));
    const auto direction = normal_numbers::of_turns(to_unit_float(words[half + 1]));
    numbers[half] = radius * direction.cosine;
    numbers[half + 1] = radius * direction.sine;
  }
}

// An integer below `range`, from 64 random bits.
__device__ inline std::uint64_t random_below(std::uint64_t range, std::uint32_t high, std::uint32_t low) {
  return __umul64hi(static_cast<std::uint64_t>(high) << 32 | low, range);
}

inline std::uint64_t random_seed_of(const KernelSpec& spec) {
  return static_cast<std::uint64_t>(spec.attr<std::int64_t>("seed"));
}

// A tensor as the random streams see it: the first axis counts samples, the rest is a row, and so many elements of a
// row share the words of one block.
struct RandomGroups {
  std::int64_t rows, size, per_row;
  RandomGroups(const Shape& shape, int elements)
      : rows(shape.rank() == 0 ? 1 : shape[0]),
        size(shape.rank() == 0 ? 1 : shape.slice(1).num_elements()),
        per_row((size + elements - 1) / elements) {}
  std::int64_t count() const { return rows * per_row; }
};

template <class Body>
__global__ void __launch_bounds__(kBlock)
    each_random_group(RandomGroups groups, std::int64_t row_step, std::int64_t group_step, const RandomState* state,
                      std::uint64_t seed, Body body) {
  const RandomSource source(*state, seed);
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kBlock + threadIdx.x;
  std::int64_t row = first / groups.per_row, group = first % groups.per_row;
  while (row < groups.rows) {
    body(source, row, group);
    row += row_step;
    group += group_step;
    if (group >= groups.per_row) {
      group -= groups.per_row;
      ++row;
    }
  }
}

// Runs `body(source, row, group)`, a device functor, for every group.
template <class Body>
void launch_random_groups(const RandomGroups& groups, const KernelIO& io, std::uint64_t seed,
                          const cohort::cuda::CudaDevice& device, const Body& body) {
  if (groups.count() == 0) return;
  const int blocks = blocks_for(groups.count(), device);
  const std::int64_t stride = static_cast<std::int64_t>(blocks) * kBlock;
  each_random_group<<<blocks, kBlock, 0, stream_of(io)>>>(groups, stride / groups.per_row, stride % groups.per_row,
                                                          io.random, seed, body);
  cohort::cuda::check(cudaGetLastError());
}

}  // namespace cohort::kernels::cuda
