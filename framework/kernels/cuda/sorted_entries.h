#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "cohort/core/error.h"
#include "cohort/kernels/cuda/block_sort.h"
#include "cohort/kernels/cuda/launch.h"
#include "cohort/kernels/cuda/pieces.h"
#include "cohort/kernels/cuda/radix_sort.h"

namespace cohort::kernels::cuda {

// Entries 0, 1, .. that belong to rows, as words with the row above the entry's number. Sorted, the entries of a row
// are neighbours and in their order; those without a row are the last.
class EntrySort {
 public:
  EntrySort(const char* op, const cohort::cuda::CudaDevice& device, std::int64_t count, std::int64_t rows,
            Pieces& memory)
      : device_(&device), count_(count), rows_(rows) {
    if (count > kMostSorted || rows >= kMostRows) {
      throw unimplemented(op, "on a GPU, fewer than 2^31 indices and 2^32 rows are expected",
                          {{"indices", count}, {"rows", rows}});
    }
    sorted_ = memory.add(word_bytes());
    if (in_one_block()) return;
    made_ = memory.add(word_bytes());
    temporary_bytes_ = radix_sort_bytes(count);
    temporary_ = memory.add(temporary_bytes_);
  }

  std::int64_t count() const { return count_; }
  std::int64_t rows() const { return rows_; }
  const std::uint64_t* sorted(void* memory) const { return at(memory, sorted_); }

  // Makes and sorts the entries: `row_of(i)`, a device function, is the row of entry i, or -1 for none.
  template <class RowOf>
  void enqueue(void* memory, cudaStream_t stream, const RowOf& row_of) const;

 private:
  static constexpr std::int64_t kMostRows = 0xffffffff;
  static constexpr std::int64_t kBlockEntries = 4096;

  bool in_one_block() const { return count_ <= kBlockEntries; }
  std::size_t word_bytes() const { return static_cast<std::size_t>(count_) * sizeof(std::uint64_t); }
  static std::uint64_t* at(void* memory, std::size_t offset) {
    return reinterpret_cast<std::uint64_t*>(static_cast<char*>(memory) + offset);
  }

  const cohort::cuda::CudaDevice* device_;
  std::int64_t count_, rows_;
  std::size_t sorted_ = 0, made_ = 0, temporary_ = 0, temporary_bytes_ = 0;
};

// What an entry's word says.
__host__ __device__ inline std::int64_t row_in(std::uint64_t word) { return static_cast<std::int64_t>(word >> 32); }
__host__ __device__ inline std::int64_t entry_in(std::uint64_t word) {
  return static_cast<std::int64_t>(word & 0xffffffff);
}

template <class RowOf>
struct EntryWord {
  RowOf row_of;
  std::int64_t rows;

  __device__ std::uint64_t operator()(std::int64_t entry) const {
    const std::int64_t row = row_of(entry);
    return static_cast<std::uint64_t>(row < 0 ? rows : row) << 32 | static_cast<std::uint64_t>(entry);
  }
};

template <class Word>
__global__ void sort_entries_in_block(int count, int padded, const __grid_constant__ Word word, std::uint64_t* sorted) {
  extern __shared__ std::uint64_t words[];
  for (int i = static_cast<int>(threadIdx.x); i < padded; i += static_cast<int>(blockDim.x)) {
    words[i] = i < count ? word(i) : ~std::uint64_t{0};
  }
  __syncthreads();
  block_sort(words, padded);
  for (int i = static_cast<int>(threadIdx.x); i < count; i += static_cast<int>(blockDim.x)) sorted[i] = words[i];
}

template <class Word>
__global__ void __launch_bounds__(kBlock)
    make_entries(std::int64_t count, const __grid_constant__ Word word, std::uint64_t* made) {
  COHORT_EACH(i, count) made[i] = word(i);
}

template <class RowOf>
void EntrySort::enqueue(void* memory, cudaStream_t stream, const RowOf& row_of) const {
  if (count_ == 0) return;
  const EntryWord<RowOf> word{row_of, rows_};
  std::uint64_t* sorted = at(memory, sorted_);
  if (in_one_block()) {
    const int padded = power_of_two_for(count_), threads = std::clamp(padded / 2, 32, 1024);
    sort_entries_in_block<<<1, threads, static_cast<std::size_t>(padded) * sizeof(std::uint64_t), stream>>>(
        static_cast<int>(count_), padded, word, sorted);
    cohort::cuda::check(cudaGetLastError());
    return;
  }
  std::uint64_t* made = at(memory, made_);
  make_entries<<<blocks_for(count_, *device_), kBlock, 0, stream>>>(count_, word, made);
  cohort::cuda::check(cudaGetLastError());
  const int row_bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(rows_, 1))));
  enqueue_radix_sort(at(memory, temporary_), temporary_bytes_, made, sorted, count_, 32, 32 + row_bits, stream);
}

}  // namespace cohort::kernels::cuda
