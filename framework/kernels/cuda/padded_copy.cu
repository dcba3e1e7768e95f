#include "cohort/kernels/cuda/padded_copy.h"

#include <algorithm>
#include <vector>

#include "cohort/kernels/cuda/index_math.h"
#include "cohort/kernels/cuda/launch.h"
#include "cohort/kernels/cuda/words.h"

namespace cohort::kernels::cuda {
namespace {

// An axis of the tensor written: `count` positions from `first` on, `step` apart, come from elsewhere, where they lie
// `from` elements apart.
struct PaddedAxis {
  std::int64_t size, first, step, count, from;
};

template <class Index>
struct PaddedIndex {
  int rank = 0;
  Divider<Index> sizes[Shape::kMaxRank], steps[Shape::kMaxRank];  // innermost first
  Index firsts[Shape::kMaxRank], counts[Shape::kMaxRank], froms[Shape::kMaxRank];

  // Where the element comes from, if it comes from anywhere.
  __device__ bool find(Index position, Index& at) const {
    bool inside = true;
    at = 0;
#pragma unroll
    for (int axis = 0; axis < Shape::kMaxRank; ++axis) {
      if (axis == rank) break;
      const Index next = sizes[axis].divide(position);
      const Index distance = position - next * sizes[axis].divisor - firsts[axis];
      const Index number = steps[axis].divide(distance < 0 ? 0 : distance);
      inside &= distance >= 0 && number < counts[axis] && number * steps[axis].divisor == distance;
      at += number * froms[axis];
      position = next;
    }
    return inside;
  }
};

template <class Word, class Index>
__global__ void __launch_bounds__(kBlock) copy_padded(const Word* __restrict__ from, Word* __restrict__ to, Word value,
                                                      Index total, PaddedIndex<Index> index) {
  const Index first = static_cast<Index>(blockIdx.x) * (kBlock * kWordsOfThread) + static_cast<Index>(threadIdx.x);
  Word words[kWordsOfThread];
#pragma unroll
  for (int k = 0; k < kWordsOfThread; ++k) {
    const Index position = first + k * kBlock;
    if (position >= total) break;
    Index at;
    words[k] = value;
    if (index.find(position, at)) words[k] = from[at];
  }
#pragma unroll
  for (int k = 0; k < kWordsOfThread; ++k) {
    const Index position = first + k * kBlock;
    if (position >= total) break;
    to[position] = words[k];
  }
}

struct PaddedPlan {
  std::vector<PaddedAxis> axes;  // outermost first
  std::int64_t from_offset = 0;
  std::int64_t total = 1;
};

// Axes that are copied from end to end become one with the axis before them.
PaddedPlan plan_padded(const Shape& whole, const Ranges& ranges) {
  PaddedPlan plan;
  plan.total = whole.num_elements();
  std::int64_t from = 1;
  for (int i = whole.rank() - 1; i >= 0; --i) {
    const SliceRange& range = ranges[static_cast<std::size_t>(i)];
    PaddedAxis axis{whole[i], range.start, range.step, range.count, from};
    if (range.count <= 1) {
      axis.step = 1;
    } else if (range.step < 0) {
      plan.from_offset += from * (range.count - 1);
      axis = {whole[i], range.start + (range.count - 1) * range.step, -range.step, range.count, -from};
    }
    from *= range.count;
    if (!plan.axes.empty()) {
      PaddedAxis& inner = plan.axes.back();
      const bool whole_inner = inner.first == 0 && inner.step == 1 && inner.count == inner.size && inner.from > 0;
      if (whole_inner && axis.step == 1 && axis.from == inner.from * inner.size) {
        inner = {axis.size * inner.size, axis.first * inner.size, 1, axis.count * inner.size, inner.from};
        continue;
      }
    }
    plan.axes.push_back(axis);
  }
  std::reverse(plan.axes.begin(), plan.axes.end());
  if (plan.axes.empty()) plan.axes.push_back({1, 0, 1, 1, 1});
  return plan;
}

std::int64_t elements_of_word(const PaddedPlan& plan, std::size_t element_bytes) {
  const PaddedAxis& inner = plan.axes.back();
  if (inner.step != 1 || inner.from != 1) return 1;
  CommonPower common(static_cast<std::int64_t>(kWidestWord / element_bytes));
  common.divides(inner.size).divides(inner.first).divides(inner.count).divides(plan.from_offset);
  for (std::size_t i = 0; i + 1 < plan.axes.size(); ++i) common.divides(plan.axes[i].from);
  return common.power();
}

PaddedPlan in_words(PaddedPlan plan, std::int64_t elements) {
  for (PaddedAxis& axis : plan.axes) axis.from /= elements;
  PaddedAxis& inner = plan.axes.back();
  inner = {inner.size / elements, inner.first / elements, 1, inner.count / elements, 1};
  plan.from_offset /= elements;
  plan.total /= elements;
  return plan;
}

template <class Index>
PaddedIndex<Index> padded_index_of(const PaddedPlan& plan) {
  PaddedIndex<Index> index{};
  for (auto axis = plan.axes.rbegin(); axis != plan.axes.rend(); ++axis) {
    index.sizes[index.rank] = Divider<Index>(axis->size);
    index.steps[index.rank] = Divider<Index>(axis->step);
    index.firsts[index.rank] = static_cast<Index>(axis->first);
    index.counts[index.rank] = static_cast<Index>(axis->count);
    index.froms[index.rank] = static_cast<Index>(axis->from);
    ++index.rank;
  }
  return index;
}

template <class Word>
Word repeated(std::uint64_t value, std::size_t element_bytes) {
  for (std::size_t bytes = element_bytes; bytes < sizeof value; bytes *= 2) value |= value << (8 * bytes);
  if constexpr (sizeof(Word) == 16) {
    const auto low = static_cast<unsigned int>(value), high = static_cast<unsigned int>(value >> 32);
    return {low, high, low, high};
  } else {
    return static_cast<Word>(value);
  }
}

CopyLaunch make_launch(const PaddedPlan& plan, std::uint64_t value, std::size_t element_bytes, std::size_t word_bytes) {
  // What is taken is never more than what is written.
  return visit_index_width(plan.total <= kLargestNarrow, [&](auto index_type) {
    using Index = typename decltype(index_type)::type;
    return visit_word(word_bytes, [&](auto word_type) -> CopyLaunch {
      using Word = typename decltype(word_type)::type;
      const auto total = static_cast<Index>(plan.total);
      const auto blocks =
          static_cast<unsigned int>((plan.total + kBlock * kWordsOfThread - 1) / (kBlock * kWordsOfThread));
      return [=, from_offset = plan.from_offset, word = repeated<Word>(value, element_bytes),
              index = padded_index_of<Index>(plan)](const void* from, void* to, cudaStream_t stream) {
        copy_padded<<<blocks, kBlock, 0, stream>>>(static_cast<const Word*>(from) + from_offset, static_cast<Word*>(to),
                                                   word, total, index);
        cohort::cuda::check(cudaGetLastError());
      };
    });
  });
}

}  // namespace

CopyLaunch make_padded_copy(const Shape& whole, const Ranges& ranges, std::uint64_t value, std::size_t element_bytes) {
  const PaddedPlan plan = plan_padded(whole, ranges);
  if (plan.total == 0) return [](const void*, void*, cudaStream_t) {};
  CopyLaunch by_element = make_launch(plan, value, element_bytes, element_bytes);
  const std::int64_t elements = elements_of_word(plan, element_bytes);
  if (elements == 1) return by_element;
  const std::size_t bytes = element_bytes * static_cast<std::size_t>(elements);
  return by_alignment(bytes, make_launch(in_words(plan, elements), value, element_bytes, bytes), by_element);
}

}  // namespace cohort::kernels::cuda
