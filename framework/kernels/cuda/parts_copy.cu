#include "cohort/kernels/cuda/parts_copy.h"

#include <algorithm>

#include "cohort/kernels/cuda/copy_words.h"
#include "cohort/kernels/cuda/index_math.h"
#include "cohort/kernels/cuda/launch.h"
#include "cohort/kernels/cuda/words.h"

namespace cohort::kernels::cuda {
namespace {

// Parts of one launch: what a kernel's parameters hold.
constexpr int kMostPartsOfLaunch = 64;

template <class Word, class Index>
struct Part {
  const Word* from;
  Word* to;
  Index first;  // of the part's words in a row of all parts
  Index from_step, to_step;
};

template <class Word, class Index>
struct Parts {
  int count;
  Index total;
  Divider<Index> row;  // words of one row of all parts
  Part<Word, Index> parts[kMostPartsOfLaunch];
};

template <class Word, class Index>
__global__ void __launch_bounds__(kBlock) copy_parts(const __grid_constant__ Parts<Word, Index> all) {
  const Index first = static_cast<Index>(blockIdx.x) * (kBlock * kWordsOfThread) + static_cast<Index>(threadIdx.x);
  Word* target[kWordsOfThread];
  Word words[kWordsOfThread];
#pragma unroll
  for (int k = 0; k < kWordsOfThread; ++k) {
    const Index position = first + k * kBlock;
    if (position >= all.total) break;
    const Index row = all.row.divide(position), column = position - row * all.row.divisor;
    int low = 0, high = all.count - 1;
    while (low < high) {
      const int middle = (low + high + 1) / 2;
      if (all.parts[middle].first <= column) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    const Part<Word, Index>& part = all.parts[low];
    const Index place = column - part.first;
    words[k] = part.from[row * part.from_step + place];
    target[k] = part.to + (row * part.to_step + place);
  }
#pragma unroll
  for (int k = 0; k < kWordsOfThread; ++k) {
    if (first + k * kBlock >= all.total) break;
    *target[k] = words[k];
  }
}

// Some parts in words: what is known of them before their pointers are.
struct Group {
  struct Member {
    std::size_t part;
    std::int64_t from_offset, to_offset;
    std::int64_t first, from_step, to_step;
  };
  std::vector<Member> members;
  std::int64_t rows = 0, row = 0;

  void add(std::size_t number, const PartCopy& part, std::int64_t elements_of_word) {
    const auto in_words = [=](std::int64_t elements) { return elements / elements_of_word; };
    members.push_back({number, in_words(part.from_offset), in_words(part.to_offset), row, in_words(part.from_step),
                       in_words(part.to_step)});
    rows = part.rows;
    row += in_words(part.width);
  }
  // Whether all positions fit 32 bits.
  bool is_narrow() const {
    std::int64_t most = rows * row;
    for (const Member& member : members) {
      most = std::max({most, rows * member.from_step, rows * member.to_step});
    }
    return most <= kLargestNarrow;
  }
};

template <class Word, class Index>
void launch_group(const Group& group, PartPointers from, PartPointers to, cudaStream_t stream) {
  Parts<Word, Index> all;
  all.count = static_cast<int>(group.members.size());
  all.total = static_cast<Index>(group.rows * group.row);
  all.row = Divider<Index>(group.row);
  for (std::size_t i = 0; i < group.members.size(); ++i) {
    const Group::Member& member = group.members[i];
    all.parts[i] = {static_cast<const Word*>(from[member.part]) + member.from_offset,
                    static_cast<Word*>(to[member.part]) + member.to_offset, static_cast<Index>(member.first),
                    static_cast<Index>(member.from_step), static_cast<Index>(member.to_step)};
  }
  const auto blocks =
      static_cast<unsigned int>((group.rows * group.row + kBlock * kWordsOfThread - 1) / (kBlock * kWordsOfThread));
  copy_parts<<<blocks, kBlock, 0, stream>>>(all);
  cohort::cuda::check(cudaGetLastError());
}

}  // namespace

PartsCopy::PartsCopy(const std::vector<PartCopy>& parts, std::size_t element_bytes) {
  CommonPower common(static_cast<std::int64_t>(kWidestWord / element_bytes));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const PartCopy& part = parts[i];
    if (part.rows == 0 || part.width == 0) continue;
    used_.push_back(i);
    common.divides(part.width).divides(part.from_offset).divides(part.to_offset);
    if (part.rows > 1) common.divides(part.from_step).divides(part.to_step);
  }
  wide_bytes_ = element_bytes * static_cast<std::size_t>(common.power());
  wide_ = make_launches(parts, element_bytes, common.power());
  if (common.power() > 1) narrow_ = make_launches(parts, element_bytes, 1);
}

std::vector<PartsCopy::Launch> PartsCopy::make_launches(const std::vector<PartCopy>& parts, std::size_t element_bytes,
                                                        std::int64_t elements_of_word) const {
  std::vector<Launch> launches;
  for (std::size_t begin = 0; begin < used_.size(); begin += kMostPartsOfLaunch) {
    Group group;
    for (std::size_t i = begin; i < std::min(begin + kMostPartsOfLaunch, used_.size()); ++i) {
      group.add(used_[i], parts[used_[i]], elements_of_word);
    }
    launches.push_back(visit_index_width(group.is_narrow(), [&](auto index_type) {
      using Index = typename decltype(index_type)::type;
      const auto bytes = element_bytes * static_cast<std::size_t>(elements_of_word);
      return visit_word(bytes, [&](auto word_type) -> Launch {
        using Word = typename decltype(word_type)::type;
        return [group](PartPointers from, PartPointers to, cudaStream_t stream) {
          launch_group<Word, Index>(group, from, to, stream);
        };
      });
    }));
  }
  return launches;
}

void PartsCopy::run(PartPointers from, PartPointers to, cudaStream_t stream) const {
  const bool aligned = narrow_.empty() || std::all_of(used_.begin(), used_.end(), [&](std::size_t i) {
                         return is_aligned_to(from[i], wide_bytes_) && is_aligned_to(to[i], wide_bytes_);
                       });
  for (const Launch& launch : aligned ? wide_ : narrow_) launch(from, to, stream);
}

}  // namespace cohort::kernels::cuda
