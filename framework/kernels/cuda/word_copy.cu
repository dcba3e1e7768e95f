#include "cohort/kernels/cuda/copy_words.h"
#include "cohort/kernels/cuda/elementwise.h"
#include "cohort/kernels/cuda/index_math.h"
#include "cohort/kernels/cuda/strided_copy.h"
#include "cohort/kernels/cuda/words.h"

namespace cohort::kernels::cuda {
namespace {

constexpr int kMaxAxes = CopyPlan::kMaxAxes;
// Elements of fewer bytes are written several at a time.
constexpr std::size_t kSmallWord = 4;
constexpr int kPackBytes = 8;

// One word after the other in the order of the plan.
template <class Word, class Index>
__global__ void __launch_bounds__(kBlock) copy_words(const Word* __restrict__ from, Word* __restrict__ to, Index total,
                                                     StridedIndex<Index, 2, kMaxAxes> index) {
  const Index first = static_cast<Index>(blockIdx.x) * (kBlock * kWordsOfThread) + static_cast<Index>(threadIdx.x);
  Index target[kWordsOfThread];
  Word words[kWordsOfThread];
#pragma unroll
  for (int k = 0; k < kWordsOfThread; ++k) {
    const Index position = first + k * kBlock;
    if (position >= total) break;
    Index at[2];
    index.find(position, at);
    words[k] = from[at[0]];
    target[k] = at[1];
  }
#pragma unroll
  for (int k = 0; k < kWordsOfThread; ++k) {
    if (first + k * kBlock >= total) break;
    to[target[k]] = words[k];
  }
}

// Into dense memory, several small words of a row with one access.
template <class Word, class Index>
__global__ void __launch_bounds__(kBlock) copy_packs(const Word* __restrict__ from, Word* __restrict__ to, Index total,
                                                     StridedIndex<Index, 1, kMaxAxes> index) {
  constexpr int kCount = kPackBytes / static_cast<int>(sizeof(Word));
  const Index first = (static_cast<Index>(blockIdx.x) * kBlock + static_cast<Index>(threadIdx.x)) * kCount;
  if (first >= total) return;
  Index at[1];
  if (first + kCount > total) {
    for (Index position = first; position < total; ++position) {
      index.find(position, at);
      to[position] = from[at[0]];
    }
    return;
  }
  Pack<Word, kCount> pack;
  index.find(first, at);
  const Index row = index.sizes[0].divisor, step = index.strides[0][0];
  const Index column = first - index.sizes[0].divide(first) * row;
  if (column + kCount <= row) {
#pragma unroll
    for (int k = 0; k < kCount; ++k) pack.values[k] = from[at[0] + k * step];
  } else {
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      index.find(first + k, at);
      pack.values[k] = from[at[0]];
    }
  }
  *reinterpret_cast<Pack<Word, kCount>*>(to + first) = pack;
}

// Whether the target is written from front to back.
bool is_dense_target(const CopyPlan& plan) {
  std::int64_t step = 1;
  for (int i = plan.rank - 1; i >= 0; --i) {
    const CopyAxis& axis = plan.axes[static_cast<std::size_t>(i)];
    if (axis.to != step) return false;
    step *= axis.size;
  }
  return true;
}

template <class Index, int kOperands>
StridedIndex<Index, kOperands, kMaxAxes> copy_index_of(const CopyPlan& plan) {
  StridedIndex<Index, kOperands, kMaxAxes> index{};
  index.rank = plan.rank;
  for (int i = 0; i < plan.rank; ++i) {
    const CopyAxis& axis = plan.axes[static_cast<std::size_t>(plan.rank - 1 - i)];
    index.sizes[i] = Divider<Index>(axis.size);
    index.strides[i][0] = static_cast<Index>(axis.from);
    if constexpr (kOperands > 1) index.strides[i][1] = static_cast<Index>(axis.to);
  }
  return index;
}

unsigned int blocks_of(std::int64_t total, std::int64_t elements_of_block) {
  return static_cast<unsigned int>((total + elements_of_block - 1) / elements_of_block);
}

}  // namespace

CopyLaunch make_word_copy(const CopyPlan& plan, std::size_t word_bytes) {
  return visit_index_width(is_narrow(plan), [&](auto index_type) {
    using Index = typename decltype(index_type)::type;
    return visit_word(word_bytes, [&](auto word_type) -> CopyLaunch {
      using Word = typename decltype(word_type)::type;
      const auto total = static_cast<Index>(plan.total);
      const auto by_word = [=, from_offset = plan.from_offset, to_offset = plan.to_offset,
                            index = copy_index_of<Index, 2>(plan)](const void* from, void* to, cudaStream_t stream) {
        copy_words<<<blocks_of(total, kBlock * kWordsOfThread), kBlock, 0, stream>>>(
            static_cast<const Word*>(from) + from_offset, static_cast<Word*>(to) + to_offset, total, index);
        cohort::cuda::check(cudaGetLastError());
      };
      if constexpr (sizeof(Word) < kSmallWord) {
        if (is_dense_target(plan) && plan.to_offset == 0) {
          return [=, from_offset = plan.from_offset, index = copy_index_of<Index, 1>(plan)](const void* from, void* to,
                                                                                            cudaStream_t stream) {
            if (!is_aligned_to(to, kPackBytes)) return by_word(from, to, stream);
            copy_packs<<<blocks_of(total, kBlock * kPackBytes / sizeof(Word)), kBlock, 0, stream>>>(
                static_cast<const Word*>(from) + from_offset, static_cast<Word*>(to), total, index);
            cohort::cuda::check(cudaGetLastError());
          };
        }
      }
      return by_word;
    });
  });
}

}  // namespace cohort::kernels::cuda
