#include "cohort/kernels/cuda/attention_half.h"
#include "cohort/kernels/cuda/launch.h"

namespace cohort::kernels::cuda {
namespace {

constexpr int kColumns = kHalfLines / 8;

template <class T>
struct HalfInputs {
  const T *query, *key, *value, *upstream;
  const float* logarithms;
  const bool* mask;
  const RandomState* random;
};

// The logarithm of a step's scores, of base two, and what its exponentials are multiplied with.
struct RowStatistics {
  float logarithm, factor;
};
__device__ inline RowStatistics statistics_of(const AttentionSizes& sizes, const float* logarithms, std::int64_t step) {
  if (step >= sizes.steps) return {0.0f, 0.0f};
  if (logarithms[step] <= kHiddenScore<float>) return {kHiddenPower, static_cast<float>(sizes.weight_without_keys)};
  return {logarithms[step] * kLog2E, 1.0f};
}

// The weight of a key for a step, from their product.
__device__ inline float weight_of(float product, float scale, const RowStatistics& row, bool exists, bool is_seen) {
  return exists ? fast_exp2((is_seen ? product * scale : kHiddenPower) - row.logarithm) * row.factor : 0.0f;
}

// What flows to a score; the weights of a step that sees no key do not depend on the scores.
__device__ inline float score_flow(float weight, float flow, float delta, float logarithm) {
  return logarithm <= kHiddenPower ? 0.0f : weight * (flow - delta);
}

template <class T, int kHead>
inline constexpr std::size_t kTilesBytes = 6 * HalfTile<T, kHead, kHalfLines>::kBytes;
// Logarithms, factors and deltas of two tiles of steps.
inline constexpr std::size_t kStatisticsBytes = 2 * 3 * kHalfLines * sizeof(float);

// One block for 64 steps of one head, 16 for each warp. It walks over the keys twice: for the sums of weights times
// flows, which the other kernel reads from `deltas`, and for what flows to the query.
template <class T, int kHead>
__global__ void __launch_bounds__(kHalfThreads)
    half_query_gradient(AttentionSizes sizes, HalfInputs<T> in, T* __restrict__ to_query, float* __restrict__ deltas,
                        std::int64_t tiles) {
  using Tile = HalfTile<T, kHead, kHalfLines>;
  extern __shared__ __align__(128) char shared[];
  const auto tile_at = [&](int i) { return Tile{shared + i * Tile::kBytes}; };
  const Tile query_tile = tile_at(0), upstream_tile = tile_at(1);
  const auto key_tile = [&](int stage) { return tile_at(2 + stage); };
  const auto value_tile = [&](int stage) { return tile_at(4 + stage); };

  const std::int64_t item = blockIdx.x / tiles, tile = tiles - 1 - blockIdx.x % tiles;  // the longest ones first
  const std::int64_t sample = item / sizes.heads, head = item % sizes.heads;
  const std::int64_t key_head = head / (sizes.heads / sizes.key_heads);
  const std::int64_t first = tile * kHalfLines, last = min(sizes.steps, first + kHalfLines) - 1;
  const auto keys = head_of(in.key, sample, key_head, sizes.keys, sizes.key_heads, sizes.size);
  const auto values = head_of(in.value, sample, key_head, sizes.keys, sizes.key_heads, sizes.value_size);
  const AttentionDropout dropout(in.random, sizes, sample);
  const KeyRange range = keys_of(sizes, first, last);
  const float scale = static_cast<float>(sizes.scale), power_scale = scale * kLog2E,
              kept_factor = static_cast<float>(sizes.kept);
  const int lane = lane_of(), own_row = warp_of() * 16;

  query_tile.load(head_of(in.query, sample, head, sizes.steps, sizes.heads, sizes.size), first);
  upstream_tile.load(head_of(in.upstream, sample, head, sizes.steps, sizes.heads, sizes.value_size), first);
  key_tile(0).load(keys, range.begin);
  value_tile(0).load(values, range.begin);
  end_group_of_copies();

  RowStatistics rows[2];
  float delta[2] = {};
  for (int half = 0; half < 2; ++half) {
    rows[half] = statistics_of(sizes, in.logarithms + item * sizes.steps, first + own_row + lane / 4 + half * 8);
  }
  SumFragment sums[kHead / 8];
#pragma unroll
  for (int j = 0; j < kHead / 8; ++j) sums[j] = {};

  const std::int64_t key_tiles = (range.end - range.begin + kHalfLines - 1) / kHalfLines;
  for (std::int64_t i = 0; i < 2 * key_tiles; ++i) {
    const int stage = static_cast<int>(i & 1);
    const bool is_second_walk = i >= key_tiles;
    const std::int64_t first_key = range.begin + (is_second_walk ? i - key_tiles : i) * kHalfLines;
    wait_for_copies();
    __syncthreads();  // all copies are there, and nobody uses the other stage any more
    if (i + 1 < 2 * key_tiles) {
      const std::int64_t next = range.begin + (i + 1 >= key_tiles ? i + 1 - key_tiles : i + 1) * kHalfLines;
      key_tile(stage ^ 1).load(keys, next);
      value_tile(stage ^ 1).load(values, next);
      end_group_of_copies();
    }
    SumFragment weights[kColumns], flows[kColumns];
    multiply_tiles<T, kHead, kColumns>([&](int step) { return query_tile.left(own_row, step); }, key_tile(stage),
                                       weights);
    multiply_tiles<T, kHead, kColumns>([&](int step) { return upstream_tile.left(own_row, step); }, value_tile(stage),
                                       flows);
    const bool all_seen = !sizes.has_mask && sizes.window == 0 && first_key + kHalfLines <= sizes.keys &&
                          (!sizes.causal || first_key + kHalfLines - 1 <= first);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const std::int64_t step = first + own_row + lane / 4 + half * 8;
#pragma unroll
      for (int j = 0; j < kColumns; ++j) {
        const std::int64_t own_key = first_key + j * 8 + lane % 4 * 2;
        bool kept[2];
        if (sizes.threshold > 0) {
          dropout.find_kept(static_cast<std::uint64_t>((head * sizes.steps + step) * sizes.keys + own_key), kept);
        }
#pragma unroll
        for (int k = 0; k < 2; ++k) {
          float& weight = weights[j].values[half * 2 + k];
          float flow = flows[j].values[half * 2 + k];
          const bool exists = all_seen || (step < sizes.steps && own_key + k < sizes.keys);
          const bool is_seen = all_seen || (exists && sees(sizes, in.mask, sample, head, step, own_key + k));
          weight = weight_of(weight, power_scale, rows[half], exists, is_seen);
          if (sizes.threshold > 0) flow = kept[k] ? flow * kept_factor : 0.0f;
          if (is_second_walk) {
            weight = score_flow(weight, flow, delta[half], rows[half].logarithm);
          } else {
            delta[half] += weight * flow;
          }
        }
      }
    }
    if (is_second_walk) {
      add_weighted_tile<T, kHead>(weights, key_tile(stage), sums);
    } else if (i + 1 == key_tiles) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        delta[half] += __shfl_xor_sync(~0u, delta[half], 1);
        delta[half] += __shfl_xor_sync(~0u, delta[half], 2);
        const std::int64_t step = first + own_row + lane / 4 + half * 8;
        if (lane % 4 == 0 && step < sizes.steps) deltas[item * sizes.steps + step] = delta[half];
      }
    }
  }
  T* head_data = to_query + (sample * sizes.steps * sizes.heads + head) * sizes.size;
  write_rows<T, kHead>(sums, scale, scale, head_data, first + own_row, sizes.steps, sizes.size,
                       sizes.heads * sizes.size);
}

// One block for 64 keys of one head, 16 for each warp; it gathers what flows from all steps of all the query's heads
// that share them. Scores are computed the other way round, with keys as rows.
template <class T, int kHead>
__global__ void __launch_bounds__(kHalfThreads)
    half_key_value_gradient(AttentionSizes sizes, HalfInputs<T> in, const float* __restrict__ deltas,
                            T* __restrict__ to_key, T* __restrict__ to_value, std::int64_t tiles) {
  using Tile = HalfTile<T, kHead, kHalfLines>;
  extern __shared__ __align__(128) char shared[];
  const auto tile_at = [&](int i) { return Tile{shared + i * Tile::kBytes}; };
  const Tile key_tile = tile_at(0), value_tile = tile_at(1);
  const auto query_tile = [&](int stage) { return tile_at(2 + stage); };
  const auto upstream_tile = [&](int stage) { return tile_at(4 + stage); };
  auto* statistics = reinterpret_cast<float*>(shared + kTilesBytes<T, kHead>);

  const std::int64_t item = blockIdx.x / tiles, first_key = blockIdx.x % tiles * kHalfLines;
  const std::int64_t sample = item / sizes.key_heads, key_head = item % sizes.key_heads;
  const std::int64_t sharing = sizes.heads / sizes.key_heads;
  const AttentionDropout dropout(in.random, sizes, sample);
  const StepRange range = steps_of(sizes, first_key, first_key + kHalfLines - 1);
  const float scale = static_cast<float>(sizes.scale), power_scale = scale * kLog2E,
              kept_factor = static_cast<float>(sizes.kept);
  const int lane = lane_of(), own_row = warp_of() * 16;
  const std::int64_t step_tiles = range.end > range.begin ? (range.end - range.begin + kHalfLines - 1) / kHalfLines : 0;
  const std::int64_t total = step_tiles * sharing;

  // Brings the steps of a turn, and what is known of them, into one of the stages.
  const auto load_turn = [&](std::int64_t turn, int stage) {
    const std::int64_t head = key_head * sharing + turn / step_tiles;
    const std::int64_t first = range.begin + turn % step_tiles * kHalfLines;
    query_tile(stage).load(head_of(in.query, sample, head, sizes.steps, sizes.heads, sizes.size), first);
    upstream_tile(stage).load(head_of(in.upstream, sample, head, sizes.steps, sizes.heads, sizes.value_size), first);
    end_group_of_copies();
    if (threadIdx.x >= kHalfLines) return;
    const std::int64_t step = first + threadIdx.x, row = (sample * sizes.heads + head) * sizes.steps;
    const RowStatistics known = statistics_of(sizes, in.logarithms + row, step);
    float* to = statistics + stage * 3 * kHalfLines + threadIdx.x;
    to[0] = known.logarithm;
    to[kHalfLines] = known.factor;
    to[2 * kHalfLines] = step < sizes.steps ? deltas[row + step] : 0.0f;
  };

  key_tile.load(head_of(in.key, sample, key_head, sizes.keys, sizes.key_heads, sizes.size), first_key);
  value_tile.load(head_of(in.value, sample, key_head, sizes.keys, sizes.key_heads, sizes.value_size), first_key);
  if (total > 0) load_turn(0, 0);
  SumFragment key_sums[kHead / 8], value_sums[kHead / 8];
#pragma unroll
  for (int j = 0; j < kHead / 8; ++j) key_sums[j] = value_sums[j] = {};

  for (std::int64_t turn = 0; turn < total; ++turn) {
    const int stage = static_cast<int>(turn & 1);
    const std::int64_t head = key_head * sharing + turn / step_tiles;
    const std::int64_t first = range.begin + turn % step_tiles * kHalfLines;
    wait_for_copies();
    __syncthreads();  // all copies are there, and nobody uses the other stage any more
    if (turn + 1 < total) load_turn(turn + 1, stage ^ 1);
    SumFragment weights[kColumns], flows[kColumns];
    multiply_tiles<T, kHead, kColumns>([&](int step) { return key_tile.left(own_row, step); }, query_tile(stage),
                                       weights);
    multiply_tiles<T, kHead, kColumns>([&](int step) { return value_tile.left(own_row, step); }, upstream_tile(stage),
                                       flows);
    const bool all_seen = !sizes.has_mask && sizes.window == 0 && first_key + kHalfLines <= sizes.keys &&
                          first + kHalfLines <= sizes.steps && (!sizes.causal || first_key + kHalfLines - 1 <= first);
    const float* known = statistics + stage * 3 * kHalfLines;
#pragma unroll
    for (int j = 0; j < kColumns; ++j) {
#pragma unroll
      for (int k = 0; k < 2; ++k) {
        const int column = j * 8 + lane % 4 * 2 + k;
        const std::int64_t step = first + column;
        const RowStatistics row{known[column], known[kHalfLines + column]};
        const float delta = known[2 * kHalfLines + column];
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const std::int64_t own_key = first_key + own_row + lane / 4 + half * 8;
          float &weight = weights[j].values[half * 2 + k], &flow = flows[j].values[half * 2 + k];
          const bool exists = all_seen || (step < sizes.steps && own_key < sizes.keys);
          const bool is_seen = all_seen || (exists && sees(sizes, in.mask, sample, head, step, own_key));
          weight = weight_of(weight, power_scale, row, exists, is_seen);
          float left = weight;
          if (sizes.threshold > 0) {
            bool kept[1];
            dropout.find_kept(static_cast<std::uint64_t>((head * sizes.steps + step) * sizes.keys + own_key), kept);
            left = kept[0] ? weight * kept_factor : 0.0f;
            flow = kept[0] ? flow * kept_factor : 0.0f;
          }
          flow = score_flow(weight, flow, delta, row.logarithm);
          weight = left;
        }
      }
    }
    add_weighted_tile<T, kHead>(weights, upstream_tile(stage), value_sums);
    add_weighted_tile<T, kHead>(flows, query_tile(stage), key_sums);
  }
  wait_for_copies();  // of a block that no step looks at
  const std::int64_t head_at = sample * sizes.keys * sizes.key_heads + key_head;
  write_rows<T, kHead>(key_sums, scale, scale, to_key + head_at * sizes.size, first_key + own_row, sizes.keys,
                       sizes.size, sizes.key_heads * sizes.size);
  write_rows<T, kHead>(value_sums, 1.0f, 1.0f, to_value + head_at * sizes.value_size, first_key + own_row, sizes.keys,
                       sizes.value_size, sizes.key_heads * sizes.value_size);
}

}  // namespace

KernelFn half_attention_gradient(const KernelSpec& spec, const AttentionSizes& sizes) {
  auto* device = &cohort::cuda::device_of(spec);
  device->make_current();
  device->reserve_workspace(static_cast<std::size_t>(sizes.batch * sizes.heads * sizes.steps) * sizeof(float));
  return visit_half_heads(spec.input(0).dtype, sizes, [&](auto type, auto head) -> KernelFn {
    using T = typename decltype(type)::type;
    constexpr int kHead = decltype(head)::value;
    constexpr std::size_t kQueryBytes = kTilesBytes<T, kHead>, kKeyBytes = kQueryBytes + kStatisticsBytes;
    cohort::cuda::check(cudaFuncSetAttribute(half_query_gradient<T, kHead>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                             static_cast<int>(kQueryBytes)));
    cohort::cuda::check(cudaFuncSetAttribute(half_key_value_gradient<T, kHead>,
                                             cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(kKeyBytes)));
    const std::int64_t step_tiles = (sizes.steps + kHalfLines - 1) / kHalfLines,
                       key_tiles = (sizes.keys + kHalfLines - 1) / kHalfLines;
    const auto query_blocks = static_cast<unsigned int>(sizes.batch * sizes.heads * step_tiles),
               key_blocks = static_cast<unsigned int>(sizes.batch * sizes.key_heads * key_tiles);
    return [=](const KernelIO& io) {
      if (query_blocks == 0) return;
      const HalfInputs<T> in{io.in<T>(0), io.in<T>(1),     io.in<T>(2),
                             io.in<T>(4), io.in<float>(5), sizes.has_mask ? io.in<bool>(6) : nullptr,
                             io.random};
      auto* deltas = static_cast<float*>(device->workspace());
      half_query_gradient<T, kHead>
          <<<query_blocks, kHalfThreads, kQueryBytes, stream_of(io)>>>(sizes, in, io.out<T>(0), deltas, step_tiles);
      cohort::cuda::check(cudaGetLastError());
      half_key_value_gradient<T, kHead><<<key_blocks, kHalfThreads, kKeyBytes, stream_of(io)>>>(
          sizes, in, deltas, io.out<T>(1), io.out<T>(2), key_tiles);
      cohort::cuda::check(cudaGetLastError());
    };
  });
}

}  // namespace cohort::kernels::cuda
