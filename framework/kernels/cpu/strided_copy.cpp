#include "cohort/kernels/cpu/strided_copy.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "cohort/core/thread_pool.h"

namespace cohort {
namespace {

using kernels::CopyAxis;
using kernels::CopyPlan;

constexpr std::int64_t kBlockElements = 16384;  // less than this is not worth a second thread
constexpr std::int64_t kTile = 32;

// Counts through the outer axes of a copy, keeping both offsets.
class Odometer {
 public:
  Odometer(const CopyAxis* axes, int rank, std::int64_t position) : axes_(axes), rank_(rank) {
    for (int i = rank - 1; i >= 0; --i) {
      at_[i] = position % axes[i].size;
      position /= axes[i].size;
      from += at_[i] * axes[i].from;
      to += at_[i] * axes[i].to;
    }
  }
  void next() {
    for (int i = rank_ - 1; i >= 0; --i) {
      from += axes_[i].from;
      to += axes_[i].to;
      if (++at_[i] < axes_[i].size) return;
      from -= axes_[i].from * axes_[i].size;
      to -= axes_[i].to * axes_[i].size;
      at_[i] = 0;
    }
  }
  std::int64_t from = 0, to = 0;

 private:
  const CopyAxis* axes_;
  int rank_;
  std::array<std::int64_t, CopyPlan::kMaxAxes> at_{};
};

// The row mirrored. Of bytes eight are turned at a time, the last eight of a row perhaps for the second time: images
// are rows of few bytes.
template <class T>
void mirror_row(const T* from, T* to, std::int64_t count) {
  const T* first = from - (count - 1);
  if constexpr (sizeof(T) == 1) {
    constexpr std::int64_t kTurned = 8;
    const auto turn = [&](std::int64_t at) {
      std::uint64_t bytes;
      std::memcpy(&bytes, first + count - kTurned - at, kTurned);
      bytes = __builtin_bswap64(bytes);
      std::memcpy(to + at, &bytes, kTurned);
    };
    if (count >= kTurned) {
      for (std::int64_t at = 0; at + kTurned <= count; at += kTurned) turn(at);
      turn(count - kTurned);
      return;
    }
  }
  for (std::int64_t i = 0; i < count; ++i) to[i] = first[count - 1 - i];
}

template <class T>
void copy_row(const T* from, std::int64_t from_step, T* to, std::int64_t to_step, std::int64_t count) {
  if (to_step == 1 && from_step == 1) {
    std::copy_n(from, count, to);
  } else if (to_step == 1 && from_step == 0) {
    std::fill_n(to, count, *from);
  } else if (to_step == 1 && from_step == -1) {
    mirror_row(from, to, count);
  } else {
    for (std::int64_t i = 0; i < count; ++i) to[i * to_step] = from[i * from_step];
  }
}

}  // namespace

StridedCopy::StridedCopy(DType dtype, const CopyPlan& plan) : dtype_(dtype), plan_(plan) { choose_walk(); }

void StridedCopy::choose_walk() {
  const CopyAxis inner = plan_.innermost();
  if (inner.to != 1 || inner.from == 1 || inner.from == 0) return;
  CopyAxis* axes = plan_.axes.data();
  for (int i = plan_.rank - 2; i >= 0; --i) {
    if (axes[i].from != 1 || axes[i].size < 4 || inner.size < 4) continue;
    std::rotate(axes + i, axes + i + 1, axes + plan_.rank - 1);  // the order of outer axes does not matter
    tiled_ = true;
    return;
  }
}

void StridedCopy::run(const void* from, void* to) const {
  if (plan_.total == 0) return;
  visit_element(dtype_, [&]<class T>(T) {
    const T* source = static_cast<const T*>(from) + plan_.from_offset;
    T* target = static_cast<T*>(to) + plan_.to_offset;
    tiled_ ? run_tiles(source, target) : run_rows(source, target);
  });
}

template <class T>
void StridedCopy::run_rows(const T* from, T* to) const {
  const CopyAxis inner = plan_.innermost();
  const CopyAxis* axes = plan_.axes.data();
  const int outer_rank = plan_.rank - 1;
  std::int64_t rows = plan_.total / inner.size;
  if (inner.size > kBlockElements) {
    for (Odometer row(axes, outer_rank, 0); rows > 0; --rows, row.next()) {
      parallel_for(inner.size, kBlockElements, [&](std::int64_t begin, std::int64_t end) {
        copy_row(from + row.from + begin * inner.from, inner.from, to + row.to + begin * inner.to, inner.to,
                 end - begin);
      });
    }
    return;
  }
  parallel_for(rows, std::max<std::int64_t>(1, kBlockElements / inner.size), [&](std::int64_t begin, std::int64_t end) {
    Odometer row(axes, outer_rank, begin);
    for (std::int64_t i = begin; i < end; ++i, row.next()) {
      copy_row(from + row.from, inner.from, to + row.to, inner.to, inner.size);
    }
  });
}

template <class T>
void StridedCopy::run_tiles(const T* from, T* to) const {
  const int outer_rank = plan_.rank - 2;
  const CopyAxis* axes = plan_.axes.data();
  const CopyAxis read = axes[outer_rank], write = axes[outer_rank + 1];
  const std::int64_t outer = plan_.total / (read.size * write.size);
  const std::int64_t strips = (read.size + kTile - 1) / kTile;
  const std::int64_t strip_elements = std::min(kTile, read.size) * write.size;
  const std::int64_t grain = std::max<std::int64_t>(1, kBlockElements / strip_elements);
  parallel_for(outer * strips, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t item = begin; item < end; ++item) {
      const Odometer at(axes, outer_rank, item / strips);
      const std::int64_t r0 = item % strips * kTile, r1 = std::min(r0 + kTile, read.size);
      for (std::int64_t w0 = 0; w0 < write.size; w0 += kTile) {
        const std::int64_t w1 = std::min(w0 + kTile, write.size);
        for (std::int64_t r = r0; r < r1; ++r) {
          const T* source = from + at.from + r;
          T* target = to + at.to + r * read.to;
          for (std::int64_t w = w0; w < w1; ++w) target[w] = source[w * write.from];
        }
      }
    }
  });
}

}  // namespace cohort
