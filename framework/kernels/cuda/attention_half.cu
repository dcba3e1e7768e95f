#include "cohort/kernels/cuda/attention_half.h"

#include "cohort/kernels/cuda/launch.h"

namespace cohort::kernels::cuda {
namespace {

// Short heads leave room for 32 steps of a warp, which halves what it reads from shared memory for each step.
template <int kHead>
inline constexpr int kRowTiles = kHead <= 64 ? 2 : 1;
template <int kHead>
inline constexpr int kBlockSteps = kHalfWarps * 16 * kRowTiles<kHead>;

template <class T, int kHead>
inline constexpr std::size_t kSharedBytes =
    HalfTile<T, kHead, kBlockSteps<kHead>>::kBytes + 4 * HalfTile<T, kHead, kHalfLines>::kBytes;

// What softmax makes of one row of scores so far, as powers of two: the same in all lanes of a row but for the total,
// of which each lane has its own columns.
struct RunningRow {
  float largest, total;
};

// The block of threads that attend() in attention.cu is, with products of tiles by tensor cores: a warp has 16 steps,
// or twice as many, and all keys of a tile.
template <class T, int kHead>
__global__ void __launch_bounds__(kHalfThreads)
    attend_half(AttentionSizes sizes, const T* __restrict__ query, const T* __restrict__ key,
                const T* __restrict__ value, const bool* __restrict__ mask, const RandomState* random,
                T* __restrict__ output, float* __restrict__ logarithms, std::int64_t tiles) {
  constexpr int kTiles = kRowTiles<kHead>, kColumns = kHalfLines / 8;
  using KeyTile = HalfTile<T, kHead, kHalfLines>;
  using QueryTile = HalfTile<T, kHead, kBlockSteps<kHead>>;
  extern __shared__ __align__(128) char shared[];
  const QueryTile query_tile{shared};
  const auto key_tile = [&](int stage) { return KeyTile{shared + QueryTile::kBytes + stage * KeyTile::kBytes}; };
  const auto value_tile = [&](int stage) {
    return KeyTile{shared + QueryTile::kBytes + (2 + stage) * KeyTile::kBytes};
  };

  const std::int64_t item = blockIdx.x / tiles, tile = tiles - 1 - blockIdx.x % tiles;  // the longest ones first
  const std::int64_t sample = item / sizes.heads, head = item % sizes.heads;
  const std::int64_t key_head = head / (sizes.heads / sizes.key_heads);
  const std::int64_t first = tile * kBlockSteps<kHead>, last = min(sizes.steps, first + kBlockSteps<kHead>) - 1;
  const auto queries = head_of(query, sample, head, sizes.steps, sizes.heads, sizes.size);
  const auto keys = head_of(key, sample, key_head, sizes.keys, sizes.key_heads, sizes.size);
  const auto values = head_of(value, sample, key_head, sizes.keys, sizes.key_heads, sizes.value_size);
  const AttentionDropout dropout(random, sizes, sample);
  const KeyRange range = keys_of(sizes, first, last);
  const float scale = static_cast<float>(sizes.scale) * kLog2E, kept_factor = static_cast<float>(sizes.kept);
  const float lowest = __int_as_float(static_cast<int>(0xff800000u));
  const int lane = lane_of(), own_row = warp_of() * 16 * kTiles;

  query_tile.load(queries, first);
  key_tile(0).load(keys, range.begin);
  value_tile(0).load(values, range.begin);
  end_group_of_copies();

  LeftFragment query_parts[kTiles][kHead / 16];
  SumFragment sums[kTiles][kHead / 8];
  RunningRow rows[kTiles][2];
#pragma unroll
  for (int i = 0; i < kTiles; ++i) {
    rows[i][0] = rows[i][1] = {lowest, 0.0f};
#pragma unroll
    for (int j = 0; j < kHead / 8; ++j) sums[i][j] = {};
  }

  int stage = 0;
  for (std::int64_t first_key = range.begin; first_key < range.end; first_key += kHalfLines, stage ^= 1) {
    wait_for_copies();
    __syncthreads();  // all copies are there, and nobody uses the other stage any more
    if (first_key == range.begin) {
#pragma unroll
      for (int i = 0; i < kTiles; ++i) {
#pragma unroll
        for (int step = 0; step < kHead / 16; ++step) query_parts[i][step] = query_tile.left(own_row + i * 16, step);
      }
    }
    if (first_key + kHalfLines < range.end) {
      key_tile(stage ^ 1).load(keys, first_key + kHalfLines);
      value_tile(stage ^ 1).load(values, first_key + kHalfLines);
      end_group_of_copies();
    }
    const bool all_seen = !sizes.has_mask && sizes.window == 0 && first_key + kHalfLines <= sizes.keys &&
                          (!sizes.causal || first_key + kHalfLines - 1 <= first);
#pragma unroll
    for (int i = 0; i < kTiles; ++i) {
      SumFragment scores[kColumns];
      multiply_tiles<T, kHead, kColumns>([&](int step) { return query_parts[i][step]; }, key_tile(stage), scores);
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const std::int64_t step = first + own_row + i * 16 + lane / 4 + half * 8;
        RunningRow& row = rows[i][half];
        float highest = row.largest;
#pragma unroll
        for (int j = 0; j < kColumns; ++j) {
#pragma unroll
          for (int k = 0; k < 2; ++k) {
            float& score = scores[j].values[half * 2 + k];
            score *= scale;
            if (!all_seen) {
              const std::int64_t at = first_key + j * 8 + lane % 4 * 2 + k;
              if (at >= sizes.keys) {
                score = lowest;
              } else if (step >= sizes.steps || !sees(sizes, mask, sample, head, step, at)) {
                score = kHiddenPower;
              }
            }
            highest = fmaxf(highest, score);
          }
        }
        highest = fmaxf(highest, __shfl_xor_sync(~0u, highest, 1));
        highest = fmaxf(highest, __shfl_xor_sync(~0u, highest, 2));
        const float from = highest == lowest ? 0.0f : highest;
        const float shrink = highest == row.largest ? 1.0f : fast_exp2(row.largest - from);
        row.largest = highest;
        row.total *= shrink;
#pragma unroll
        for (int j = 0; j < kColumns; ++j) {
          float& low = scores[j].values[half * 2];
          float& high = scores[j].values[half * 2 + 1];
          low = fast_exp2(low - from);
          high = fast_exp2(high - from);
          row.total += low + high;
          if (sizes.threshold > 0) {
            bool kept[2];
            const std::int64_t at = first_key + j * 8 + lane % 4 * 2;
            dropout.find_kept(static_cast<std::uint64_t>((head * sizes.steps + step) * sizes.keys + at), kept);
            low = kept[0] ? low * kept_factor : 0.0f;
            high = kept[1] ? high * kept_factor : 0.0f;
          }
        }
#pragma unroll
        for (int j = 0; j < kHead / 8; ++j) {
          sums[i][j].values[half * 2] *= shrink;
          sums[i][j].values[half * 2 + 1] *= shrink;
        }
      }
      add_weighted_tile<T, kHead>(scores, value_tile(stage), sums[i]);
    }
  }

#pragma unroll
  for (int i = 0; i < kTiles; ++i) {
    float factors[2];
    const std::int64_t first_row = first + own_row + i * 16;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const RunningRow& row = rows[i][half];
      float total = row.total + __shfl_xor_sync(~0u, row.total, 1);
      total += __shfl_xor_sync(~0u, total, 2);
      const bool sees_none = row.largest <= kHiddenPower;
      factors[half] = sees_none ? static_cast<float>(sizes.weight_without_keys) : 1.0f / total;
      const std::int64_t step = first_row + lane / 4 + half * 8;
      if (step < sizes.steps && lane % 4 == 0) {
        logarithms[item * sizes.steps + step] = sees_none ? kHiddenScore<float> : (row.largest + log2f(total)) * kLn2;
      }
    }
    T* head_data = output + (sample * sizes.steps * sizes.heads + head) * sizes.value_size;
    write_rows<T, kHead>(sums[i], factors[0], factors[1], head_data, first_row, sizes.steps, sizes.value_size,
                         sizes.heads * sizes.value_size);
  }
}

}  // namespace

KernelFn half_attention(const KernelSpec& spec, const AttentionSizes& sizes) {
  cohort::cuda::device_of(spec).make_current();
  return visit_half_heads(spec.input(0).dtype, sizes, [&](auto type, auto head) -> KernelFn {
    using T = typename decltype(type)::type;
    constexpr int kHead = decltype(head)::value;
    constexpr std::size_t kBytes = kSharedBytes<T, kHead>;
    cohort::cuda::check(cudaFuncSetAttribute(attend_half<T, kHead>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                             static_cast<int>(kBytes)));
    const std::int64_t tiles = (sizes.steps + kBlockSteps<kHead> - 1) / kBlockSteps<kHead>;
    const auto blocks = static_cast<unsigned int>(sizes.batch * sizes.heads * tiles);
    return [=](const KernelIO& io) {
      if (blocks == 0) return;
      attend_half<T, kHead><<<blocks, kHalfThreads, kBytes, stream_of(io)>>>(
          sizes, io.in<T>(0), io.in<T>(1), io.in<T>(2), sizes.has_mask ? io.in<bool>(3) : nullptr, io.random,
          io.out<T>(0), io.out<float>(1), tiles);
      cohort::cuda::check(cudaGetLastError());
    };
  });
}

}  // namespace cohort::kernels::cuda
