#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "cohort/kernels/cuda/groups.h"
#include "cohort/kernels/cuda/launch.h"
#include "cohort/kernels/cuda/typed_elements.h"

namespace cohort::kernels::cuda {

// Which threads take which rows of a matrix: `group` threads, a power of two, take one row; beyond a warp the group is
// the block. A thread moves packs of `width` elements. It keeps those of its row in registers if they fit there, else
// it reads them for each pass anew.
struct RowPlan {
  static constexpr int kMostThreads = 512;
  // The largest blocks that a multiprocessor shall hold at a time.
  static constexpr int kBlocks = 2;
  // The most packs that a thread keeps.
  static constexpr int kPacks = 4;

  RowPlan(std::int64_t rows, std::int64_t count, int width) : rows(rows), count(count), width(width) {
    const std::int64_t packs = std::max<std::int64_t>(1, (count + width - 1) / width);
    const int most_packs = width == 1 ? 1 : kPacks;
    const std::int64_t wanted =
        packs <= kWarp ? packs : std::max<std::int64_t>(kWarp, (packs + most_packs - 1) / most_packs);
    group = static_cast<int>(std::bit_ceil(static_cast<std::uint64_t>(std::min<std::int64_t>(wanted, kMostThreads))));
    packs_of_thread = packs <= group ? 1 : most_packs;
    is_kept = packs <= static_cast<std::int64_t>(group) * packs_of_thread;
    threads = group > kWarp ? group : 4 * kWarp;
  }
  int rows_of_block() const { return threads / group; }
  unsigned int blocks() const { return static_cast<unsigned int>((rows + rows_of_block() - 1) / rows_of_block()); }

  std::int64_t rows, count;
  int width, group, threads, packs_of_thread;
  bool is_kept;
};

// The plans for rows that can be moved by packs of several elements, and for others.
template <class C>
struct RowPlans {
  RowPlans(std::int64_t rows, std::int64_t count) : packed(rows, count, kWidth<C>), single(rows, count, 1) {}
  // The plan for rows of these tensors.
  template <class... Tensors>
  const RowPlan& choose(const Tensors&... tensors) const {
    return packed.count % kWidth<C> == 0 && (tensors.is_packed() && ...) ? packed : single;
  }
  RowPlan packed, single;
};

// How a kernel is instantiated for a plan.
template <int packs, int width, bool kept>
struct RowForm {
  static constexpr int kPacks = packs, kCount = width;
  static constexpr bool kKept = kept;
};

// Calls `visit` with the form for rows that are computed in C and not kept, if there are rows.
template <class C, class Visit>
void visit_passing_form(const RowPlan& plan, const Visit& visit) {
  if (plan.rows == 0) return;
  if constexpr (kWidth < C >> 1) {
    if (plan.width > 1) return visit(RowForm<2, kWidth<C>, false>{});
  }
  visit(RowForm<4, 1, false>{});
}
// Calls `visit` with the form for rows that are computed in C, if there are any.
template <class C, class Visit>
void visit_form(const RowPlan& plan, const Visit& visit) {
  if (!plan.is_kept) return visit_passing_form<C>(plan, visit);
  if (plan.rows == 0) return;
  if constexpr (kWidth < C >> 1) {
    if (plan.packs_of_thread > 1) return visit(RowForm<RowPlan::kPacks, kWidth<C>, true>{});
    if (plan.width > 1) return visit(RowForm<1, kWidth<C>, true>{});
  }
  visit(RowForm<1, 1, true>{});
}

// A thread's part of a row, in chunks of kPacks packs of kCount elements: a warp has kPacks times its own width, so
// that the distance of a thread's packs is known to the compiler. Threads that have no row take part with an empty one:
// merging needs them all.
template <class C, class Form>
class Row {
 public:
  static constexpr int kPacks = Form::kPacks, kCount = Form::kCount;
  static constexpr bool kKept = Form::kKept;
  using Chunk = C[kPacks][kCount];

  __device__ Row(const RowPlan& plan, C* shared)
      : group_(plan.group),
        lane_(static_cast<int>(threadIdx.x) & (plan.group - 1)),
        place_((lane_ / kWarp * kPacks * kWarp + lane_ % kWarp) * kCount),
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
    return first + place_ + (k * kWarp * kCount + j);
  }
  // Whether the row has this pack: all of its elements or none.
  __device__ bool has(std::int64_t first, int k) const { return position(first, k, 0) < count_; }

  template <class Stored>
  __device__ void load(const TypedElements<C, Stored>& x, std::int64_t first, Chunk& values, C fill) const {
    load_from(x, start_, first, values, fill);
  }
  // The same from a row that all rows share.
  __device__ void load_shared(const TypedElements<C>& x, std::int64_t first, Chunk& values) const {
    load_from(x, 0, first, values, C(0));
  }
  template <class Stored>
  __device__ void store(const TypedElements<C, Stored>& y, std::int64_t first, const Chunk& values) const {
    y.store([&](int k) { return start_ + position(first, k, 0); }, [&](int k) { return has(first, k); }, values);
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
      for (std::int64_t first = 0; first < count_; first += kPacks * group_ * kCount) {
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
  template <class Stored>
  __device__ void load_from(const TypedElements<C, Stored>& x, std::int64_t start, std::int64_t first, Chunk& values,
                            C fill) const {
    x.load([&](int k) { return start + position(first, k, 0); }, [&](int k) { return has(first, k); }, values, fill);
  }

  const int group_, lane_, place_;
  C* const shared_;
  std::int64_t row_, count_, start_;
  bool exists_;
  TypedElements<C> x_;
  C fill_;
  Chunk values_;
};

}  // namespace cohort::kernels::cuda
