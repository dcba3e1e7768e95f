#include <utility>

#include "cohort/core/mixed_types.h"
#include "cohort/kernels/cuda/attention_cudnn.h"
#include "cohort/kernels/cuda/attention_half.h"
#include "cohort/kernels/cuda/attention_tiles.h"
#include "cohort/kernels/cuda/elementwise.h"
#include "cohort/kernels/cuda/launch.h"

namespace cohort::kernels::cuda {
namespace {

template <class T>
struct GradientInputs {
  const T *query, *key, *value, *upstream;
  const Compute<T>* logarithms;
  const bool* mask;
  const RandomState* random;
};

// The operands of one head of the query, and what it takes to compute its weights again.
template <class T>
struct QueryHead {
  std::int64_t sample, head;
  AttentionLines<T> queries, keys, values, upstream;
  const Compute<T>* logarithms;

  __device__ QueryHead(const AttentionSizes& sizes, const GradientInputs<T>& in, std::int64_t sample, std::int64_t head)
      : sample(sample), head(head) {
    const std::int64_t key_head = head / (sizes.heads / sizes.key_heads);
    queries = head_of(in.query, sample, head, sizes.steps, sizes.heads, sizes.size);
    keys = head_of(in.key, sample, key_head, sizes.keys, sizes.key_heads, sizes.size);
    values = head_of(in.value, sample, key_head, sizes.keys, sizes.key_heads, sizes.value_size);
    upstream = head_of(in.upstream, sample, head, sizes.steps, sizes.heads, sizes.value_size);
    logarithms = in.logarithms + (sample * sizes.heads + head) * sizes.steps;
  }
};

// A thread's part of a tile: the weights, those that dropout leaves, and what flows back to the weights.
template <class C>
struct WeightsAndFlows {
  static constexpr int kOwn = AttentionTile<C>::kOwn;
  C weights[kOwn][kOwn], left[kOwn][kOwn], flows[kOwn][kOwn];
  bool hidden[kOwn];  // steps that see no key: their weights do not depend on the scores
};

template <class T, class C>
__device__ void compute_tile(const AttentionSizes& sizes, const QueryHead<T>& own, const bool* mask,
                             const AttentionDropout& dropout, std::int64_t first_step, std::int64_t first_key,
                             typename AttentionTile<C>::Parts& parts, WeightsAndFlows<C>& tile) {
  using Tile = AttentionTile<C>;
  constexpr int kOwn = Tile::kOwn;
  multiply_lines(own.queries, first_step, own.keys, first_key, parts, tile.weights);
  multiply_lines(own.upstream, first_step, own.values, first_key, parts, tile.flows);
  const C scale = static_cast<C>(sizes.scale), kept_factor = static_cast<C>(sizes.kept);
#pragma unroll
  for (int i = 0; i < kOwn; ++i) {
    const std::int64_t step = first_step + Tile::down() * kOwn + i, own_key = first_key + Tile::across() * kOwn;
    const bool exists = step < sizes.steps;
    const C logarithm = exists ? own.logarithms[step] : C(0);
    tile.hidden[i] = logarithm <= kHiddenScore<C>;
    bool kept[kOwn];
    if (sizes.threshold > 0) {
      dropout.find_kept(static_cast<std::uint64_t>((own.head * sizes.steps + step) * sizes.keys + own_key), kept);
    }
#pragma unroll
    for (int j = 0; j < kOwn; ++j) {
      C weight = 0;
      if (exists && own_key + j < sizes.keys) {
        const C score =
            sees(sizes, mask, own.sample, own.head, step, own_key + j) ? tile.weights[i][j] * scale : kHiddenScore<C>;
        weight = tile.hidden[i] ? static_cast<C>(sizes.weight_without_keys) : fn::exp(score - logarithm);
      }
      tile.weights[i][j] = tile.left[i][j] = weight;
      if (sizes.threshold > 0) {
        tile.left[i][j] = kept[j] ? weight * kept_factor : C(0);
        tile.flows[i][j] = kept[j] ? tile.flows[i][j] * kept_factor : C(0);
      }
    }
  }
}

// Puts what flows to the scores into shared memory; `delta` is each step's sum of weights times flows.
template <class C>
__device__ void store_score_flows(const WeightsAndFlows<C>& tile, const C (&delta)[AttentionTile<C>::kOwn], C scale,
                                  typename AttentionTile<C>::Scores& scores) {
  using Tile = AttentionTile<C>;
#pragma unroll
  for (int i = 0; i < Tile::kOwn; ++i) {
#pragma unroll
    for (int j = 0; j < Tile::kOwn; ++j) {
      scores[Tile::down() * Tile::kOwn + i][Tile::across() * Tile::kOwn + j] =
          tile.hidden[i] ? C(0) : tile.weights[i][j] * (tile.flows[i][j] - delta[i]) * scale;
    }
  }
}

template <class T, class C>
__device__ void write_columns(const C (&sums)[AttentionTile<C>::kOwn][AttentionTile<C>::kOwn], T* to,
                              std::int64_t sample, std::int64_t head, std::int64_t first_line, std::int64_t lines,
                              std::int64_t heads, std::int64_t first_column, std::int64_t columns) {
  using Tile = AttentionTile<C>;
#pragma unroll
  for (int i = 0; i < Tile::kOwn; ++i) {
    const std::int64_t line = first_line + Tile::down() * Tile::kOwn + i;
#pragma unroll
    for (int j = 0; j < Tile::kOwn; ++j) {
      const std::int64_t column = first_column + Tile::across() + j * Tile::kSide;
      if (line >= lines || column >= columns) continue;
      to[((sample * lines + line) * heads + head) * columns + column] = narrowed<T>(sums[i][j]);
    }
  }
}

// One block for some steps of one head and some columns of its query: a first walk over the keys gives the sums of
// weights times flows, which the other kernel reads from `deltas`, a second one what flows to the query.
template <class T>
__global__ void __launch_bounds__(AttentionTile<Compute<T>>::kThreads)
    query_gradient(AttentionSizes sizes, GradientInputs<T> in, T* __restrict__ to_query,
                   Compute<T>* __restrict__ deltas, std::int64_t tiles) {
  using C = Compute<T>;
  using Tile = AttentionTile<C>;
  constexpr int kOwn = Tile::kOwn;
  __shared__ typename Tile::Parts parts;
  __shared__ typename Tile::Scores scores;

  const std::int64_t item = blockIdx.x / tiles, tile_number = tiles - 1 - blockIdx.x % tiles;
  const QueryHead<T> own(sizes, in, item / sizes.heads, item % sizes.heads);
  const std::int64_t first = tile_number * Tile::kRows, last = min(sizes.steps, first + Tile::kRows) - 1;
  const std::int64_t first_column = static_cast<std::int64_t>(blockIdx.y) * Tile::kColumns;
  const AttentionDropout dropout(in.random, sizes, own.sample);
  const KeyRange range = keys_of(sizes, first, last);
  WeightsAndFlows<C> tile;

  C delta[kOwn] = {};
  for (std::int64_t first_key = range.begin; first_key < range.end; first_key += Tile::kRows) {
    compute_tile(sizes, own, in.mask, dropout, first, first_key, parts, tile);
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
#pragma unroll
      for (int j = 0; j < kOwn; ++j) delta[i] = multiply_add(tile.weights[i][j], tile.flows[i][j], delta[i]);
    }
  }
#pragma unroll
  for (int i = 0; i < kOwn; ++i) {
    delta[i] = combine_row(delta[i], [](C a, C b) { return a + b; });
    const std::int64_t step = first + Tile::down() * kOwn + i;
    if (blockIdx.y == 0 && Tile::across() == 0 && step < sizes.steps) deltas[item * sizes.steps + step] = delta[i];
  }

  C sums[kOwn][kOwn] = {};
  for (std::int64_t first_key = range.begin; first_key < range.end; first_key += Tile::kRows) {
    compute_tile(sizes, own, in.mask, dropout, first, first_key, parts, tile);
    store_score_flows(tile, delta, static_cast<C>(sizes.scale), scores);
    __syncthreads();
    add_weighted_lines<false>(scores, own.keys, first_key, first_column, parts, sums);
  }
  write_columns(sums, to_query, own.sample, own.head, first, sizes.steps, sizes.heads, first_column, sizes.size);
}

// One block for some keys of one head and some columns of key and value: it gathers what flows from all steps of all
// the query's heads that share them.
template <class T>
__global__ void __launch_bounds__(AttentionTile<Compute<T>>::kThreads)
    key_value_gradient(AttentionSizes sizes, GradientInputs<T> in, const Compute<T>* __restrict__ deltas,
                       T* __restrict__ to_key, T* __restrict__ to_value, std::int64_t tiles) {
  using C = Compute<T>;
  using Tile = AttentionTile<C>;
  constexpr int kOwn = Tile::kOwn;
  __shared__ typename Tile::Parts parts;
  __shared__ typename Tile::Scores scores;

  const std::int64_t item = blockIdx.x / tiles, first_key = blockIdx.x % tiles * Tile::kRows;
  const std::int64_t sample = item / sizes.key_heads, key_head = item % sizes.key_heads;
  const std::int64_t sharing = sizes.heads / sizes.key_heads;
  const std::int64_t first_column = static_cast<std::int64_t>(blockIdx.y) * Tile::kColumns;
  const AttentionDropout dropout(in.random, sizes, sample);
  const StepRange range = steps_of(sizes, first_key, first_key + Tile::kRows - 1);
  WeightsAndFlows<C> tile;
  C key_sums[kOwn][kOwn] = {}, value_sums[kOwn][kOwn] = {};
  for (std::int64_t head = key_head * sharing; head < (key_head + 1) * sharing; ++head) {
    const QueryHead<T> own(sizes, in, sample, head);
    const C* head_deltas = deltas + (sample * sizes.heads + head) * sizes.steps;
    for (std::int64_t first = range.begin; first < range.end; first += Tile::kRows) {
      compute_tile(sizes, own, in.mask, dropout, first, first_key, parts, tile);
      C delta[kOwn];
#pragma unroll
      for (int i = 0; i < kOwn; ++i) {
        const int row = Tile::down() * kOwn + i;
        delta[i] = first + row < sizes.steps ? head_deltas[first + row] : C(0);
#pragma unroll
        for (int j = 0; j < kOwn; ++j) scores[row][Tile::across() * kOwn + j] = tile.left[i][j];
      }
      __syncthreads();
      add_weighted_lines<true>(scores, own.upstream, first, first_column, parts, value_sums);
      store_score_flows(tile, delta, static_cast<C>(sizes.scale), scores);
      __syncthreads();
      add_weighted_lines<true>(scores, own.queries, first, first_column, parts, key_sums);
    }
  }
  write_columns(key_sums, to_key, sample, key_head, first_key, sizes.keys, sizes.key_heads, first_column, sizes.size);
  write_columns(value_sums, to_value, sample, key_head, first_key, sizes.keys, sizes.key_heads, first_column,
                sizes.value_size);
}

KernelFn make_general_gradient(const KernelSpec& spec, const AttentionSizes& sizes) {
  auto* device = &cohort::cuda::device_of(spec);
  return visit_floating(spec.input(0).dtype, [=](auto type) -> KernelFn {
    using T = typename decltype(type)::type;
    using C = Compute<T>;
    using Tile = AttentionTile<C>;
    const auto tiles_of = [](std::int64_t size, std::int64_t part) { return (size + part - 1) / part; };
    const std::int64_t step_tiles = tiles_of(sizes.steps, Tile::kRows), key_tiles = tiles_of(sizes.keys, Tile::kRows);
    const auto query_columns =
                   static_cast<unsigned int>(tiles_of(std::max<std::int64_t>(1, sizes.size), Tile::kColumns)),
               all_columns = static_cast<unsigned int>(
                   tiles_of(std::max<std::int64_t>({1, sizes.size, sizes.value_size}), Tile::kColumns));
    const dim3 query_grid(static_cast<unsigned int>(sizes.batch * sizes.heads * step_tiles), query_columns);
    const dim3 key_grid(static_cast<unsigned int>(sizes.batch * sizes.key_heads * key_tiles), all_columns);
    device->reserve_workspace(static_cast<std::size_t>(sizes.batch * sizes.heads * sizes.steps) * sizeof(C));
    return [=](const KernelIO& io) {
      const GradientInputs<T> in{io.in<T>(0), io.in<T>(1), io.in<T>(2),
                                 io.in<T>(4), io.in<C>(5), sizes.has_mask ? io.in<bool>(6) : nullptr,
                                 io.random};
      auto* deltas = static_cast<C*>(device->workspace());
      if (query_grid.x > 0) {
        query_gradient<T>
            <<<query_grid, Tile::kThreads, 0, stream_of(io)>>>(sizes, in, io.out<T>(0), deltas, step_tiles);
        cohort::cuda::check(cudaGetLastError());
      }
      if (key_grid.x > 0) {
        key_value_gradient<T>
            <<<key_grid, Tile::kThreads, 0, stream_of(io)>>>(sizes, in, deltas, io.out<T>(1), io.out<T>(2), key_tiles);
        cohort::cuda::check(cudaGetLastError());
      }
    };
  });
}

KernelFn make_attention_gradient(const KernelSpec& spec) {
  const AttentionSizes sizes(spec, 6);
  KernelFn general = make_general_gradient(spec, sizes);
  if (!is_half(spec.input(0).dtype) || !suits_tensor_cores(sizes)) return general;
  KernelFn half;
  if (library_attention().gradient) half = library_attention().gradient(spec, sizes);
  if (!half) half = half_attention_gradient(spec, sizes);
  return [general = std::move(general), half = std::move(half)](const KernelIO& io) {
    bool aligned = true;
    for (int i = 0; i < 5; ++i) aligned = aligned && is_aligned(io.inputs[i]);
    for (int i = 0; i < 3; ++i) aligned = aligned && is_aligned(io.outputs[i]);
    aligned ? half(io) : general(io);
  };
}

COHORT_KERNEL("DotProductAttentionGrad", kGPU, make_attention_gradient);

}  // namespace
}  // namespace cohort::kernels::cuda
