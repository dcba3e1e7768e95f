#include <algorithm>

#include "cohort/kernels/cuda/copy_words.h"
#include "cohort/kernels/cuda/index_math.h"
#include "cohort/kernels/cuda/launch.h"
#include "cohort/kernels/cuda/strided_copy.h"
#include "cohort/kernels/cuda/words.h"

namespace cohort::kernels::cuda {
namespace {

constexpr int kMaxOuterAxes = CopyPlan::kMaxAxes - 2;
// Elements of the two axes that are worth a tile; fewer lie so close together that caches do as well.
constexpr std::int64_t kSmallestPlane = 256;
// So that a thread stays on one position of the side it walks along.
constexpr int kLongestSide = kBlock;
// Blocks of a multiprocessor at the same time: with fewer, too few bytes are under way.
constexpr int kBlocksTogether = 4;

// Words that a thread reads before the block waits: more of the small ones, for as many bytes under way.
template <class Word>
constexpr int kTileWordsOfThread = sizeof(Word) <= 2   ? 16
                                   : sizeof(Word) == 4 ? 8
                                                       : 4;

// A copy whose sides run along different axes: `read` is innermost in `from`, `write` in `to`. Tiles of both axes,
// their sides powers of two, are read along the one and written along the other.
template <class Index>
struct TiledCopy {
  Index read_size, read_to;      // elements, and the step between them in `to`
  Index write_size, write_from;  // and here in `from`
  int read_bits, write_bits;     // sides of a tile
  int pitch;                     // words from one read position to the next in a tile
  Divider<Index> read_tiles, write_tiles;
  Index tiles;
  StridedIndex<Index, 2, kMaxOuterAxes> outer;
};

template <class Word, class Index>
__global__ void __launch_bounds__(kBlock, kBlocksTogether)
    copy_tiles(const Word* __restrict__ from, Word* __restrict__ to, TiledCopy<Index> plan) {
  extern __shared__ uint4 shared[];
  auto* tile = reinterpret_cast<Word*>(shared);
  const int thread = static_cast<int>(threadIdx.x);
  const int read_side = 1 << plan.read_bits, write_side = 1 << plan.write_bits;
  for (Index number = static_cast<Index>(blockIdx.x); number < plan.tiles; number += static_cast<Index>(gridDim.x)) {
    const Index column = plan.write_tiles.divide(number);
    const Index place = plan.read_tiles.divide(column);
    const Index write_first = (number - column * plan.write_tiles.divisor) << plan.write_bits;
    const Index read_first = (column - place * plan.read_tiles.divisor) << plan.read_bits;
    Index at[2];
    plan.outer.find(place, at);
    // What the tensor leaves of the tile.
    const Index reads = plan.read_size - read_first, writes = plan.write_size - write_first;

    {
      const int read = thread & (read_side - 1), first = thread >> plan.read_bits, step = kBlock >> plan.read_bits;
      const int end = read >= reads ? 0 : writes < write_side ? static_cast<int>(writes) : write_side;
      const Word* source = from + (at[0] + read_first + read + write_first * plan.write_from);
      Word words[kTileWordsOfThread<Word>];
#pragma unroll
      for (int k = 0; k < kTileWordsOfThread<Word>; ++k) {
        const int write = first + k * step;
        if (write < end) words[k] = source[write * plan.write_from];
      }
#pragma unroll
      for (int k = 0; k < kTileWordsOfThread<Word>; ++k) {
        const int write = first + k * step;
        if (write < end) tile[read * plan.pitch + write] = words[k];
      }
    }
    __syncthreads();
    {
      const int write = thread & (write_side - 1), first = thread >> plan.write_bits, step = kBlock >> plan.write_bits;
      const int end = write >= writes ? 0 : reads < read_side ? static_cast<int>(reads) : read_side;
      Word* target = to + (at[1] + write_first + write + read_first * plan.read_to);
#pragma unroll
      for (int k = 0; k < kTileWordsOfThread<Word>; ++k) {
        const int read = first + k * step;
        if (read < end) target[read * plan.read_to] = tile[read * plan.pitch + write];
      }
    }
    __syncthreads();
  }
}

int bits_for(std::int64_t size, int most) {
  int bits = 0;
  while (bits < most && (std::int64_t{1} << bits) < size) ++bits;
  return bits;
}

// The axis of `plan` to read along: where `from` is dense, unless that is where `to` is dense; -1: there is none.
int axis_to_read(const CopyPlan& plan) {
  const CopyAxis& write = plan.innermost();
  if (write.to != 1 || write.from == 1 || write.from == 0) return -1;
  for (int i = plan.rank - 2; i >= 0; --i) {
    const CopyAxis& axis = plan.axes[static_cast<std::size_t>(i)];
    if (axis.from == 1) return axis.size * write.size >= kSmallestPlane ? i : -1;
  }
  return -1;
}

template <class Index>
TiledCopy<Index> copy_tiles_of(const CopyPlan& plan, int read_axis, std::size_t word_bytes, int elements) {
  const CopyAxis& read = plan.axes[static_cast<std::size_t>(read_axis)];
  const CopyAxis& write = plan.innermost();
  TiledCopy<Index> tiled{};
  // Sides of about one length; a short axis leaves its share to the other one.
  const int bits = bits_for(elements, 30), most = bits_for(kLongestSide, 30);
  tiled.read_bits = bits_for(read.size, bits / 2);
  tiled.write_bits = bits_for(write.size, std::min(most, bits - tiled.read_bits));
  tiled.read_bits = bits_for(read.size, std::min(most, bits - tiled.write_bits));
  // So that neither reading nor writing lets threads of a warp meet in one bank.
  const int side = 1 << tiled.read_bits;
  tiled.pitch = (1 << tiled.write_bits) + std::max({1, 4 / static_cast<int>(word_bytes), 32 / side});

  const auto count = [](std::int64_t size, int side_bits) {
    return (size + (std::int64_t{1} << side_bits) - 1) >> side_bits;
  };
  const std::int64_t read_tiles = count(read.size, tiled.read_bits), write_tiles = count(write.size, tiled.write_bits);
  tiled.read_size = static_cast<Index>(read.size);
  tiled.read_to = static_cast<Index>(read.to);
  tiled.write_size = static_cast<Index>(write.size);
  tiled.write_from = static_cast<Index>(write.from);
  tiled.read_tiles = Divider<Index>(read_tiles);
  tiled.write_tiles = Divider<Index>(write_tiles);
  tiled.tiles = static_cast<Index>(plan.total / (read.size * write.size) * read_tiles * write_tiles);
  for (int i = plan.rank - 2; i >= 0; --i) {
    if (i == read_axis) continue;
    const CopyAxis& axis = plan.axes[static_cast<std::size_t>(i)];
    tiled.outer.sizes[tiled.outer.rank] = Divider<Index>(axis.size);
    tiled.outer.strides[tiled.outer.rank][0] = static_cast<Index>(axis.from);
    tiled.outer.strides[tiled.outer.rank][1] = static_cast<Index>(axis.to);
    ++tiled.outer.rank;
  }
  return tiled;
}

}  // namespace

CopyLaunch make_tiled_copy(const CopyPlan& plan, std::size_t word_bytes) {
  const int read_axis = axis_to_read(plan);
  if (read_axis < 0) return {};
  return visit_index_width(is_narrow(plan), [&](auto index_type) {
    using Index = typename decltype(index_type)::type;
    return visit_word(word_bytes, [&](auto word_type) -> CopyLaunch {
      using Word = typename decltype(word_type)::type;
      const auto tiled = copy_tiles_of<Index>(plan, read_axis, word_bytes, kTileWordsOfThread<Word> * kBlock);
      const auto blocks = static_cast<unsigned int>(std::min<std::int64_t>(tiled.tiles, kLargestNarrow));
      const std::size_t shared = (sizeof(Word) << tiled.read_bits) * static_cast<std::size_t>(tiled.pitch);
      return [=, from_offset = plan.from_offset, to_offset = plan.to_offset](const void* from, void* to,
                                                                             cudaStream_t stream) {
        copy_tiles<<<blocks, kBlock, shared, stream>>>(static_cast<const Word*>(from) + from_offset,
                                                       static_cast<Word*>(to) + to_offset, tiled);
        cohort::cuda::check(cudaGetLastError());
      };
    });
  });
}

}  // namespace cohort::kernels::cuda
