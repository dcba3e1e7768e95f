#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "cohort/kernels/cuda/groups.h"
#include "cohort/kernels/cuda/launch.h"
#include "cohort/kernels/cuda/typed_elements.h"

namespace cohort::kernels::cuda {

// Which threads take which rows of a matrix: `group` threads, a power of two, take one row; beyond a warp the group is
// the block. A thread holds the row's elements in registers if they fit there, else it reads them for each pass anew.
struct RowPlan {
  static constexpr int kMostThreads = 512;
  // The largest blocks that a multiprocessor shall hold at a time.
  static constexpr int kBlocks = 2;
  // Packs of elements that a thread holds at a time, if these are all of its row, and else.
  static constexpr int kPacks = 4, kPassingPacks = 2;

  RowPlan(std::int64_t rows, std::int64_t count, int width) : rows(rows), count(count) {
    const std::int64_t packs = std::max<std::int64_t>(1, (count + width - 1) / width);
    const std::int64_t wanted = packs <= kWarp ? packs : std::max<std::int64_t>(kWarp, (packs + kPacks - 1) / kPacks);
    group = static_cast<int>(std::bit_ceil(static_cast<std::uint64_t>(std::min<std::int64_t>(wanted, kMostThreads))));
    packs_of_thread = packs <= group ? 1 : kPacks;
    is_kept = packs <= static_cast<std::int64_t>(group) * packs_of_thread;
    threads = std::max(group, 4 * kWarp);
    if (group > kWarp) threads = group;
  }
  int rows_of_block() const { return threads / group; }
  unsigned int blocks() const { return static_cast<unsigned int>((rows + rows_of_block() - 1) / rows_of_block()); }

  std::int64_t rows, count;
  int group = 1, threads = 1, packs_of_thread = 1;
  bool is_kept = true;
};

// How a kernel is instantiated for a plan.
template <int packs, bool kept>
struct RowForm {
  static constexpr int kPacks = packs;
  static constexpr bool kKept = kept;
};

using PassingForm = RowForm<RowPlan::kPassingPacks, false>;

template <class Visit>
void visit_form(const RowPlan& plan, const Visit& visit) {
  if (!plan.is_kept) return visit(PassingForm{});
  if (plan.packs_of_thread == 1) return visit(RowForm<1, true>{});
  visit(RowForm<RowPlan::kPacks, true>{});
}

// A thread's part of a row, in chunks of kPacks packs of kWidth elements. Threads that have no row take part with an
// empty one: merging needs them all.
template <class C, class Form>
class Row {
 public:
  static constexpr int kPacks = Form::kPacks;
  static constexpr bool kKept = Form::kKept;
  static constexpr int kCount = kWidth<C>;
  using Chunk = C[kPacks][kCount];

  __device__ Row(const RowPlan& plan, bool packed, C* shared)
      : group_(plan.group),
        lane_(static_cast<int>(threadIdx.x) & (plan.group - 1)),
        step_(plan.group * kCount),
        packed_(packed),
        shared_(shared) {
    const int rows_of_block = static_cast<int>(blockDim.x) / group_;
    take(static_cast<std::int64_t>(blockIdx.x) * rows_of_block + static_cast<int>(threadIdx.x) / group_, plan);
  }
  // Goes to another row.
  __device__ void take(std::int64_t row, const RowPlan& plan) {
    row_ = row;
    exists_ = row < plan.rows;
    count_ = exists_ ? plan.count : 0;
    start_ = row * plan.count;
  }

  __device__ std::int64_t index() const { return row_; }
  __device__ bool exists() const { return exists_; }
  // One thread of each row.
  __device__ bool is_first() const { return exists_ && lane_ == 0; }
  // Position of the row's first element.
  __device__ std::int64_t start() const { return start_; }
  // Position in the row of element j of pack k of the chunk that begins at `first`.
  __device__ std::int64_t position(std::int64_t first, int k, int j) const {
    return first + (k * step_ + lane_ * kCount + j);
  }
  __device__ bool has(std::int64_t position) const { return position < count_; }

  __device__ void load(const TypedElements<C>& x, std::int64_t first, Chunk& values, C fill) const {
    load_from(x, start_ + position(first, 0, 0), first, values, fill);
  }
  // The same from a row that all rows share.
  __device__ void load_shared(const TypedElements<C>& x, std::int64_t first, Chunk& values) const {
    load_from(x, position(first, 0, 0), first, values, C(0));
  }
  __device__ void store(const TypedElements<C>& y, std::int64_t first, const Chunk& values) const {
    const std::int64_t at = start_ + position(first, 0, 0);
    const int left = left_from(position(first, 0, 0));
    y.store([&](int k) { return at + k * step_; }, [&](int k) { return left - k * step_; }, packed_, values);
  }

  // Says what for_each walks over; elements beyond the row's end are `fill`.
  __device__ void read(const TypedElements<C>& x, C fill) {
    x_ = x;
    fill_ = fill;
    if constexpr (kKept) load(x_, 0, values_, fill_);
  }
  // Calls visit(where the chunk begins, its values). What it writes to the values stays if they are kept.
  template <class Visit>
  __device__ void for_each(const Visit& visit) {
    if constexpr (kKept) {
      visit(std::int64_t{0}, values_);
    } else {
      for (std::int64_t first = 0; first < count_; first += kPacks * step_) {
        load(x_, first, values_, fill_);
        visit(first, values_);
      }
    }
  }

  template <class V, class Merge>
  __device__ V merge(V value, const Merge& merge) const {
    return merge_group(value, group_, shared_, merge);
  }
  __device__ C sum(C value) const { return sum_group(value, group_, shared_); }

 private:
  // Elements from a position on, as far as a chunk can reach.
  __device__ int left_from(std::int64_t position) const {
    return static_cast<int>(min(count_ - position, static_cast<std::int64_t>(kPacks * step_)));
  }
  __device__ void load_from(const TypedElements<C>& x, std::int64_t at, std::int64_t first, Chunk& values,
                            C fill) const {
    const int left = left_from(position(first, 0, 0));
    x.load([&](int k) { return at + k * step_; }, [&](int k) { return left - k * step_; }, packed_, values, fill);
  }

  const int group_, lane_, step_;
  const bool packed_;
  C* const shared_;
  std::int64_t row_, count_, start_;
  bool exists_;
  TypedElements<C> x_;
  C fill_;
  Chunk values_;
};

// Whether the rows of all these tensors can be moved by packs.
template <class C, class... Tensors>
bool rows_are_packed(const RowPlan& plan, const Tensors&... tensors) {
  return plan.count % kWidth<C> == 0 && (tensors.is_packed() && ...);
}

}  // namespace cohort::kernels::cuda
