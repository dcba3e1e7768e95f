#include "cohort/kernels/cuda/row_order.h"

namespace cohort::kernels::cuda {
namespace {

using Part = RowOrder::Part;

struct MakeWord {
  SortedRows rows;
  OrderKey key;
  Divider by_count;
  Part part;
  const void* x;
  const std::uint64_t* before;  // null: elements are in their own order
  std::uint64_t* words;
  int key_bits;

  __device__ void operator()(std::int64_t i) const {
    const std::uint64_t element = before ? before[i] & 0xffffffff : static_cast<std::uint64_t>(i);
    std::int64_t within = static_cast<std::int64_t>(element);
    const std::int64_t row = by_count.split(within);
    std::uint64_t above = static_cast<std::uint64_t>(row);
    if (part != Part::Row) {
      const std::uint64_t own = key(x, rows.start(row, rows.count) + within * rows.inner);
      above = part == Part::LowKey ? own & 0xffffffff : part == Part::HighKey ? own >> 32 : above << key_bits | own;
    }
    words[i] = above << 32 | element;
  }
};

}  // namespace

void RowOrder::sort_by(Part part, int bits, bool& first, void* memory, const void* x, cudaStream_t stream) const {
  std::uint64_t *words = at(memory, words_), *sorted = at(memory, sorted_);
  launch_each(total_, *device_, stream,
              MakeWord{rows_, key_, by_count_, part, x, first ? nullptr : sorted, words, key_.bits()});
  enqueue_radix_sort(at(memory, temporary_), temporary_bytes_, words, sorted, total_, 32, 32 + bits, stream);
  first = false;
}

}  // namespace cohort::kernels::cuda
