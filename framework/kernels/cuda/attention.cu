#include <limits>
#include <utility>

#include "cohort/core/mixed_types.h"
#include "cohort/kernels/cuda/attention_cudnn.h"
#include "cohort/kernels/cuda/attention_half.h"
#include "cohort/kernels/cuda/attention_tiles.h"
#include "cohort/kernels/cuda/elementwise.h"
#include "cohort/kernels/cuda/launch.h"

namespace cohort::kernels::cuda {
namespace {

// One block for some steps of one head and some columns of the values: it goes through the keys once and keeps for each
// step the largest score so far, the sum of exponentials and the weighted values, scaled down when a larger score
// comes.
template <class T>
__global__ void __launch_bounds__(AttentionTile<Compute<T>>::kThreads)
    attend(AttentionSizes sizes, const T* __restrict__ query, const T* __restrict__ key, const T* __restrict__ value,
           const bool* __restrict__ mask, const RandomState* random, T* __restrict__ output,
           Compute<T>* __restrict__ logarithms, std::int64_t tiles) {
  using C = Compute<T>;
  using Tile = AttentionTile<C>;
  constexpr int kOwn = Tile::kOwn;
  __shared__ typename Tile::Parts parts;
  __shared__ typename Tile::Scores weights;

  const std::int64_t item = blockIdx.x / tiles, tile = tiles - 1 - blockIdx.x % tiles;  // the longest ones first
  const std::int64_t sample = item / sizes.heads, head = item % sizes.heads;
  const std::int64_t key_head = head / (sizes.heads / sizes.key_heads);
  const std::int64_t first = tile * Tile::kRows, last = min(sizes.steps, first + Tile::kRows) - 1;
  const std::int64_t first_column = static_cast<std::int64_t>(blockIdx.y) * Tile::kColumns;
  const auto queries = head_of(query, sample, head, sizes.steps, sizes.heads, sizes.size);
  const auto keys = head_of(key, sample, key_head, sizes.keys, sizes.key_heads, sizes.size);
  const auto values = head_of(value, sample, key_head, sizes.keys, sizes.key_heads, sizes.value_size);
  const AttentionDropout dropout(random, sizes, sample);
  const C scale = static_cast<C>(sizes.scale), kept_factor = static_cast<C>(sizes.kept);
  constexpr C kLowest = -std::numeric_limits<C>::infinity();

  C largest[kOwn], total[kOwn], sums[kOwn][kOwn];
#pragma unroll
  for (int i = 0; i < kOwn; ++i) {
    largest[i] = kLowest;
    total[i] = 0;
#pragma unroll
    for (int j = 0; j < kOwn; ++j) sums[i][j] = 0;
  }
  const KeyRange range = keys_of(sizes, first, last);
  for (std::int64_t first_key = range.begin; first_key < range.end; first_key += Tile::kRows) {
    C scores[kOwn][kOwn];
    multiply_lines(queries, first, keys, first_key, parts, scores);
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      const int row = Tile::down() * kOwn + i;
      const std::int64_t step = first + row, own_key = first_key + Tile::across() * kOwn;
      C highest = kLowest;
#pragma unroll
      for (int j = 0; j < kOwn; ++j) {
        if (step >= sizes.steps || own_key + j >= sizes.keys) continue;
        scores[i][j] = sees(sizes, mask, sample, head, step, own_key + j) ? scores[i][j] * scale : kHiddenScore<C>;
        highest = scores[i][j] > highest ? scores[i][j] : highest;
      }
      highest = combine_row(highest, [](C a, C b) { return a > b ? a : b; });
      highest = highest > largest[i] ? highest : largest[i];
      const C shrink = highest == largest[i] ? C(1) : fn::exp(largest[i] - highest);
      largest[i] = highest;
      const C from = highest == kLowest ? C(0) : highest;
      total[i] *= shrink;
      bool kept[kOwn];
      if (sizes.threshold > 0) {
        dropout.find_kept(static_cast<std::uint64_t>((head * sizes.steps + step) * sizes.keys + own_key), kept);
      }
#pragma unroll
      for (int j = 0; j < kOwn; ++j) {
        sums[i][j] *= shrink;
        C weight = own_key + j < range.end ? fn::exp(scores[i][j] - from) : C(0);
        total[i] += weight;
        if (sizes.threshold > 0) weight = kept[j] ? weight * kept_factor : C(0);
        weights[row][Tile::across() * kOwn + j] = weight;
      }
    }
    __syncthreads();
    add_weighted_lines<false>(weights, values, first_key, first_column, parts, sums);
  }

#pragma unroll
  for (int i = 0; i < kOwn; ++i) {
    const std::int64_t step = first + Tile::down() * kOwn + i;
    const C sum = combine_row(total[i], [](C a, C b) { return a + b; });
    const bool sees_none = largest[i] <= kHiddenScore<C>;
    const C factor = sees_none ? static_cast<C>(sizes.weight_without_keys) : C(1) / sum;
    if (step >= sizes.steps) continue;
    if (blockIdx.y == 0 && Tile::across() == 0) {
      logarithms[item * sizes.steps + step] = sees_none ? kHiddenScore<C> : largest[i] + fn::log(sum);
    }
#pragma unroll
    for (int j = 0; j < kOwn; ++j) {
      const std::int64_t column = first_column + Tile::across() + j * Tile::kSide;
      if (column >= sizes.value_size) continue;
      output[((sample * sizes.steps + step) * sizes.heads + head) * sizes.value_size + column] =
          narrowed<T>(sums[i][j] * factor);
    }
  }
}

KernelFn make_general(const KernelSpec& spec, const AttentionSizes& sizes) {
  return visit_floating(spec.input(0).dtype, [=](auto type) -> KernelFn {
    using T = typename decltype(type)::type;
    using Tile = AttentionTile<Compute<T>>;
    const std::int64_t tiles = (sizes.steps + Tile::kRows - 1) / Tile::kRows;
    const dim3 grid(
        static_cast<unsigned int>(sizes.batch * sizes.heads * tiles),
        static_cast<unsigned int>(std::max<std::int64_t>(1, (sizes.value_size + Tile::kColumns - 1) / Tile::kColumns)));
    return [=](const KernelIO& io) {
      if (grid.x == 0) return;
      attend<T><<<grid, Tile::kThreads, 0, stream_of(io)>>>(sizes, io.in<T>(0), io.in<T>(1), io.in<T>(2),
                                                            sizes.has_mask ? io.in<bool>(3) : nullptr, io.random,
                                                            io.out<T>(0), io.out<Compute<T>>(1), tiles);
      cohort::cuda::check(cudaGetLastError());
    };
  });
}

KernelFn make_attention(const KernelSpec& spec) {
  const AttentionSizes sizes(spec, 3);
  KernelFn general = make_general(spec, sizes);
  if (!is_half(spec.input(0).dtype) || !suits_tensor_cores(sizes)) return general;
  KernelFn half;
  if (library_attention().forward) half = library_attention().forward(spec, sizes);
  if (!half) half = half_attention(spec, sizes);
  return [general = std::move(general), half = std::move(half)](const KernelIO& io) {
    bool aligned = true;
    for (int i = 0; i < 3; ++i) aligned = aligned && is_aligned(io.inputs[i]);
    for (int i = 0; i < 1; ++i) aligned = aligned && is_aligned(io.outputs[i]);
    aligned ? half(io) : general(io);
  };
}

COHORT_KERNEL("DotProductAttention", kGPU, make_attention);

}  // namespace

LibraryAttention& library_attention() {
  static LibraryAttention makers;
  return makers;
}

}  // namespace cohort::kernels::cuda
