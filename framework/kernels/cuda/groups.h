#pragma once

#include <cstring>

namespace cohort::kernels::cuda {

inline constexpr int kWarp = 32;
// Warps of the largest block.
inline constexpr int kMostWarps = 32;

// Moves a value of any size between threads by what moves a word of it.
template <class V, class Move>
__device__ inline V moved_by_words(const V& value, const Move& move) {
  constexpr int kWords = sizeof(V) / sizeof(unsigned int);
  static_assert(kWords * sizeof(unsigned int) == sizeof(V));
  unsigned int words[kWords];
  memcpy(words, &value, sizeof(V));
#pragma unroll
  for (unsigned int& word : words) word = move(word);
  V result;
  memcpy(&result, words, sizeof(V));
  return result;
}
// The value of the thread whose number in the warp differs by these bits; all threads of the warp must come here.
template <class V>
__device__ inline V from_lane_across(const V& value, int bits) {
  return moved_by_words(value, [&](unsigned int word) { return __shfl_xor_sync(0xffffffffu, word, bits); });
}
// The value of the thread that comes this many before, if the warp has one; all threads of the warp must come here.
template <class V>
__device__ inline V from_lane_before(const V& value, int distance) {
  return moved_by_words(value, [&](unsigned int word) { return __shfl_up_sync(0xffffffffu, word, distance); });
}

// What `merge` makes of the values of a group of `size` neighbouring threads, for each of them; in an order that the
// size alone decides. A power of two; beyond a warp the group must be the whole block, and `shared` holds a value for
// each of its warps. All threads of the block must come here.
template <class V, class Merge>
__device__ inline V merge_group(V value, int size, V* shared, const Merge& merge) {
  for (int bits = 1; bits < size && bits < kWarp; bits *= 2) value = merge(value, from_lane_across(value, bits));
  if (size > kWarp) {
    const int lane = static_cast<int>(threadIdx.x) % kWarp, warps = size / kWarp;
    __syncthreads();  // the last values may still be read
    if (lane == 0) shared[threadIdx.x / kWarp] = value;
    __syncthreads();
    value = shared[lane % warps];
    for (int bits = 1; bits < warps; bits *= 2) value = merge(value, from_lane_across(value, bits));
  }
  return value;
}

template <class V>
__device__ inline V sum_group(V value, int size, V* shared) {
  return merge_group(value, size, shared, [](V a, V b) { return a + b; });
}

}  // namespace cohort::kernels::cuda
