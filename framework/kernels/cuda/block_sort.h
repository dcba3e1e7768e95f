#pragma once

namespace cohort::kernels::cuda {

// Sorts keys in shared memory, smallest first, by all threads of the block; `size` is a power of two. Keys must be
// visible to all threads before, and are when it returns.
template <class Key>
__device__ void block_sort(Key* keys, int size) {
  for (int length = 2; length <= size; length *= 2) {
    for (int step = length / 2; step > 0; step /= 2) {
      for (int pair = static_cast<int>(threadIdx.x); pair < size / 2; pair += static_cast<int>(blockDim.x)) {
        const int within = pair & (step - 1);
        const int low = (pair - within) * 2 + within, high = low + step;
        const bool ascending = (low & length) == 0;
        const Key a = keys[low], b = keys[high];
        if ((b < a) == ascending) {
          keys[low] = b;
          keys[high] = a;
        }
      }
      __syncthreads();
    }
  }
}

// The smallest power of two that is not below count.
inline int power_of_two_for(long long count) {
  int power = 1;
  while (power < count) power *= 2;
  return power;
}

}  // namespace cohort::kernels::cuda
