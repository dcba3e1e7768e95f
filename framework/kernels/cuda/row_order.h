#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "cohort/core/error.h"
#include "cohort/kernels/cuda/index_math.h"
#include "cohort/kernels/cuda/launch.h"
#include "cohort/kernels/cuda/order_key.h"
#include "cohort/kernels/cuda/pieces.h"
#include "cohort/kernels/cuda/radix_sort.h"

namespace cohort::kernels::cuda {

// Rows of `count` elements that lie `inner` apart: all the lines of a tensor along one axis.
struct SortedRows {
  SortedRows(std::int64_t outer, std::int64_t count, std::int64_t inner)
      : rows(outer * inner), count(count), inner(inner), by_inner(inner, rows) {}

  // Where a row begins if it has that many elements.
  __device__ std::int64_t start(std::int64_t row, std::int64_t elements) const {
    const std::int64_t outer = by_inner.split(row);
    return outer * elements * inner + row;
  }

  std::int64_t rows, count, inner;
  BoundedDivider by_inner;
};

// What elements are sorted by at a time.
enum class SortedPart { RowAndKey, LowKey, HighKey, Row };

// An element's word: what it is sorted by above its number.
struct MakeSortedWord {
  SortedRows rows;
  OrderKey key;
  BoundedDivider by_count;
  SortedPart part;
  const void* x;
  const std::uint64_t* before;  // null: elements are in their own order
  std::uint64_t* words;
  int key_bits;

  __device__ void operator()(std::int64_t i) const {
    const std::uint64_t element = before ? before[i] & 0xffffffff : static_cast<std::uint64_t>(i);
    std::int64_t within = static_cast<std::int64_t>(element);
    const std::int64_t row = by_count.split(within);
    std::uint64_t above = static_cast<std::uint64_t>(row);
    if (part != SortedPart::Row) {
      const std::uint64_t own = key(x, rows.start(row, rows.count) + within * rows.inner);
      above = part == SortedPart::LowKey    ? own & 0xffffffff
              : part == SortedPart::HighKey ? own >> 32
                                            : above << key_bits | own;
    }
    words[i] = above << 32 | element;
  }
};

// The order of the elements of all rows, by the sort of large arrays. Elements are numbered row by row; their words are
// sorted by one part after the other, the least important first: low bits of the key, high bits, row.
class RowOrder {
 public:
  RowOrder(const char* op, const cohort::cuda::CudaDevice& device, const SortedRows& rows, const OrderKey& key,
           Pieces& memory)
      : device_(&device), rows_(rows), key_(key), total_(rows.rows * rows.count), by_count_(rows.count, total_) {
    if (total_ > kMostSorted) {
      throw unimplemented(op, "on a GPU, fewer than 2^31 elements are expected", {{"elements", total_}});
    }
    const std::size_t bytes = static_cast<std::size_t>(total_) * sizeof(std::uint64_t);
    words_ = memory.add(bytes);
    sorted_ = memory.add(bytes);
    temporary_bytes_ = radix_sort_bytes(total_);
    temporary_ = memory.add(temporary_bytes_);
  }

  // The words in order; the lower half of each is the element's number.
  const std::uint64_t* sorted(void* memory) const { return at(memory, sorted_); }

  void enqueue(void* memory, const void* x, cudaStream_t stream) const {
    if (total_ == 0) return;
    const int row_bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(rows_.rows - 1)));
    bool first = true;
    if (key_.bits() + row_bits <= 32) {
      sort_by(SortedPart::RowAndKey, key_.bits() + row_bits, first, memory, x, stream);
      return;
    }
    sort_by(SortedPart::LowKey, std::min(key_.bits(), 32), first, memory, x, stream);
    if (key_.bits() > 32) sort_by(SortedPart::HighKey, 32, first, memory, x, stream);
    if (row_bits > 0) sort_by(SortedPart::Row, row_bits, first, memory, x, stream);
  }

 private:
  static std::uint64_t* at(void* memory, std::size_t offset) {
    return reinterpret_cast<std::uint64_t*>(static_cast<char*>(memory) + offset);
  }
  void sort_by(SortedPart part, int bits, bool& first, void* memory, const void* x, cudaStream_t stream) const {
    std::uint64_t *words = at(memory, words_), *sorted = at(memory, sorted_);
    launch_each(total_, *device_, stream,
                MakeSortedWord{rows_, key_, by_count_, part, x, first ? nullptr : sorted, words, key_.bits()});
    enqueue_radix_sort(at(memory, temporary_), temporary_bytes_, words, sorted, total_, 32, 32 + bits, stream);
    first = false;
  }

  const cohort::cuda::CudaDevice* device_;
  SortedRows rows_;
  OrderKey key_;
  std::int64_t total_;
  BoundedDivider by_count_;
  std::size_t words_, sorted_, temporary_, temporary_bytes_;
};

}  // namespace cohort::kernels::cuda
