#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "cohort/kernels/axis_split.h"
#include "cohort/kernels/cuda/groups.h"
#include "cohort/kernels/cuda/launch.h"
#include "cohort/kernels/cuda/typed_elements.h"

namespace cohort::kernels::cuda {

inline constexpr int kChannelThreads = 256;
// Blocks of them that gather on a multiprocessor at a time.
inline constexpr int kChannelBlocks = 3;

// A tensor as `outer` blocks of `channels` runs of `inner` elements, of which threads move packs of `width`. With
// channels last (inner = 1) a block of threads is `lanes` packs of channels wide and `height` rows high; else a run is
// taken by `lanes` threads, and `height` is 1. For what is gathered from all elements of a channel these are cut into
// `parts` of `part_size` rows or elements.
struct ChannelPlan {
  ChannelPlan(const AxisSplit& split, int width)
      : outer(split.outer), channels(split.size), inner(split.inner), count(outer * inner), width(width) {
    const auto power = [](std::int64_t n, std::int64_t most) {
      return static_cast<int>(std::bit_ceil(static_cast<std::uint64_t>(std::clamp<std::int64_t>(n, 1, most))));
    };
    // Blocks that a large GPU runs all at once, with enough to do for each thread; results may depend on these numbers.
    constexpr std::int64_t kBlocks = 132 * kChannelBlocks, kLeastOfThread = 16;
    if (is_last()) {
      const std::int64_t packs = (channels + width - 1) / width;
      lanes = power(packs, kWarp);
      height = power(outer, kChannelThreads / lanes);
      tiles = (packs + lanes - 1) / lanes;
      parts = std::min(kBlocks / std::max<std::int64_t>(1, tiles), outer / (height * kLeastOfThread));
    } else {
      lanes = power((inner + width - 1) / width, kChannelThreads);
      parts = std::min(kBlocks / std::max<std::int64_t>(1, channels), count / (kChannelThreads * kLeastOfThread));
    }
    parts = std::max<std::int64_t>(1, parts);
    part_size = (count + parts - 1) / parts;
  }
  bool is_last() const { return inner == 1; }
  bool is_empty() const { return channels * count == 0; }

  std::int64_t outer, channels, inner, count, tiles = 1, parts, part_size;
  int width, lanes, height = 1;
};

// The plans for tensors that can be moved by packs of several elements, and for others.
template <class C>
struct ChannelPlans {
  explicit ChannelPlans(const AxisSplit& split) : packed(split, kWidth<C>), single(split, 1) {}
  template <class... Tensors>
  const ChannelPlan& choose(const Tensors&... tensors) const {
    const std::int64_t run = packed.is_last() ? packed.channels : packed.inner;
    return run % kWidth<C> == 0 && (tensors.is_packed() && ...) ? packed : single;
  }
  // Of the memory that launch_gather needs.
  template <class Statistic>
  std::size_t gather_bytes() const {
    return static_cast<std::size_t>(packed.channels * std::max(packed.parts, single.parts)) *
           sizeof(typename Statistic::Value);
  }
  ChannelPlan packed, single;
};

// The channels of an input of an op that says by its attribute "axis" where they are.
inline AxisSplit channel_split(const KernelSpec& spec, int input) {
  const Shape& shape = spec.input(input).shape;
  return AxisSplit(shape, normalize_axis(spec.attr<int>("axis"), shape.rank(), spec.name()));
}

// Calls `visit` with the number of elements of a plan's packs as template argument.
template <class C, class Visit>
void visit_width(const ChannelPlan& plan, const Visit& visit) {
  if constexpr (kWidth < C >> 1) {
    if (plan.width > 1) return visit.template operator()<kWidth<C>>();
  }
  visit.template operator()<1>();
}

// Gathers a value for each channel. A Statistic has
//   Value nothing(), merge(a, b)
//   kRows: rows, or elements of runs, that a thread asks for at a time
//   Sums<kCount>(statistic, channel): what a thread knows of as many channels from this one on, with
//     add<kRows>(statistic, at, exists): takes packs of one element for each of the channels; the first one exists
//     value(j): of one of them, when all are taken
//   finish(channel, value): writes what comes of it.
template <class Statistic, int kCount>
__global__ void __launch_bounds__(kChannelThreads, kChannelBlocks)
    gather_columns(Statistic statistic, ChannelPlan plan, typename Statistic::Value* parts) {
  using Value = typename Statistic::Value;
  constexpr int kRows = Statistic::kRows;
  __shared__ Value shared[kCount][kChannelThreads];
  const int thread = static_cast<int>(threadIdx.x), lane = thread & (plan.lanes - 1),
            row_of_block = thread / plan.lanes;
  const std::int64_t channel = (static_cast<std::int64_t>(blockIdx.x) * plan.lanes + lane) * kCount;
  const bool exists = channel < plan.channels;
  const std::int64_t begin = blockIdx.y * plan.part_size;
  const std::int64_t end = exists ? min(begin + plan.part_size, plan.outer) : 0;
  Value totals[kCount];
#pragma unroll
  for (Value& each : totals) each = statistic.nothing();
  const std::int64_t row = begin + row_of_block, step = plan.height * plan.channels;
  if (row < end) {
    typename Statistic::template Sums<kCount> sums(statistic, channel);
    std::int64_t left = (end - row + plan.height - 1) / plan.height, first = row * plan.channels + channel;
    const auto at = [&](int u) { return first + u * step; };
    for (; left >= kRows; left -= kRows, first += kRows * step) {
      sums.template add<kRows>(statistic, at, [](int) { return true; });
    }
    if (left > 0) sums.template add<kRows>(statistic, at, [&](int u) { return u < left; });
#pragma unroll
    for (int j = 0; j < kCount; ++j) totals[j] = sums.value(j);
  }
#pragma unroll
  for (int j = 0; j < kCount; ++j) shared[j][thread] = totals[j];
  for (int half = plan.height / 2; half > 0; half /= 2) {
    __syncthreads();
    if (row_of_block < half) {
#pragma unroll
      for (int j = 0; j < kCount; ++j) {
        totals[j] = statistic.merge(totals[j], shared[j][thread + half * plan.lanes]);
        shared[j][thread] = totals[j];
      }
    }
  }
  if (row_of_block > 0 || !exists) return;
#pragma unroll
  for (int j = 0; j < kCount; ++j) {
    if (parts) {
      parts[(channel + j) * plan.parts + blockIdx.y] = totals[j];
    } else {
      statistic.finish(channel + j, totals[j]);
    }
  }
}

// The same for runs: a block for each channel and part.
template <class Statistic>
__global__ void __launch_bounds__(kChannelThreads)
    gather_runs(Statistic statistic, ChannelPlan plan, typename Statistic::Value* parts) {
  using Value = typename Statistic::Value;
  constexpr int kRows = Statistic::kRows;
  __shared__ Value shared[kMostWarps];
  const std::int64_t channel = blockIdx.x;
  const std::int64_t begin = blockIdx.y * plan.part_size + threadIdx.x;
  const std::int64_t end = min((blockIdx.y + 1) * plan.part_size, plan.count);
  // Element number i of the channel is element `place` of its run number `run`.
  std::int64_t run = begin / plan.inner, place = begin - run * plan.inner;
  const std::int64_t more_runs = kChannelThreads / plan.inner, more = kChannelThreads - more_runs * plan.inner;
  Value total = statistic.nothing();
  if (begin < end) {
    typename Statistic::template Sums<1> sums(statistic, channel);
    for (std::int64_t i = begin; i < end; i += kRows * kChannelThreads) {
      std::int64_t at[kRows];
#pragma unroll
      for (std::int64_t& each : at) {
        each = (run * plan.channels + channel) * plan.inner + place;
        run += more_runs;
        place += more;
        if (place >= plan.inner) {
          place -= plan.inner;
          ++run;
        }
      }
      sums.template add<kRows>(
          statistic, [&](int u) { return at[u]; }, [&](int u) { return i + u * kChannelThreads < end; });
    }
    total = sums.value(0);
  }
  const Value value = merge_group(total, kChannelThreads, shared,
                                  [&](const Value& a, const Value& b) { return statistic.merge(a, b); });
  if (threadIdx.x > 0) return;
  if (parts) {
    parts[channel * plan.parts + blockIdx.y] = value;
  } else {
    statistic.finish(channel, value);
  }
}

// Threads of the blocks that put parts together: small ones, so that few channels have many multiprocessors.
inline constexpr int kPartThreads = 64;

// Puts the parts of each channel together: a warp for each.
template <class Statistic>
__global__ void __launch_bounds__(kPartThreads)
    gather_parts(Statistic statistic, ChannelPlan plan, const typename Statistic::Value* parts) {
  using Value = typename Statistic::Value;
  constexpr int kAhead = 8;
  const std::int64_t channel =
      static_cast<std::int64_t>(blockIdx.x) * (kPartThreads / kWarp) + static_cast<int>(threadIdx.x) / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  Value value = statistic.nothing();
  if (channel < plan.channels) {
    for (std::int64_t i = lane; i < plan.parts; i += kAhead * kWarp) {
      Value next[kAhead];
#pragma unroll
      for (int k = 0; k < kAhead; ++k) {
        next[k] = i + k * kWarp < plan.parts ? parts[channel * plan.parts + i + k * kWarp] : statistic.nothing();
      }
#pragma unroll
      for (const Value& each : next) value = statistic.merge(value, each);
    }
  }
  value = merge_group(value, kWarp, static_cast<Value*>(nullptr),
                      [&](const Value& a, const Value& b) { return statistic.merge(a, b); });
  if (channel < plan.channels && lane == 0) statistic.finish(channel, value);
}

// `memory` holds a value for each channel and part.
template <class Statistic, int kCount>
void launch_gather(const Statistic& statistic, const ChannelPlan& plan, void* memory, cudaStream_t stream) {
  using Value = typename Statistic::Value;
  auto* parts = plan.parts > 1 ? static_cast<Value*>(memory) : nullptr;
  const auto parts_of_channel = static_cast<unsigned int>(plan.parts);
  if (plan.is_last()) {
    const dim3 blocks(static_cast<unsigned int>(plan.tiles), parts_of_channel);
    gather_columns<Statistic, kCount><<<blocks, plan.lanes * plan.height, 0, stream>>>(statistic, plan, parts);
  } else {
    const dim3 blocks(static_cast<unsigned int>(plan.channels), parts_of_channel);
    gather_runs<Statistic><<<blocks, kChannelThreads, 0, stream>>>(statistic, plan, parts);
  }
  cohort::cuda::check(cudaGetLastError());
  if (!parts) return;
  constexpr std::int64_t kChannelsOfBlock = kPartThreads / kWarp;
  const auto blocks = static_cast<unsigned int>((plan.channels + kChannelsOfBlock - 1) / kChannelsOfBlock);
  gather_parts<Statistic><<<blocks, kPartThreads, 0, stream>>>(statistic, plan, parts);
  cohort::cuda::check(cudaGetLastError());
}

// Packs that a thread moves at a time when every element is mapped.
inline constexpr int kMapUnroll = 4;

// Computes every element with factors of its channel. A Map has
//   Factors factors_of(channel)
//   run(factors of the pack's elements, at, exists): loads packs, computes and stores them.
template <class Map, int kCount>
__global__ void __launch_bounds__(kChannelThreads) map_columns(Map map, ChannelPlan plan) {
  const int lane = static_cast<int>(threadIdx.x) & (plan.lanes - 1);
  const std::int64_t channel = (static_cast<std::int64_t>(blockIdx.x) * plan.lanes + lane) * kCount;
  if (channel >= plan.channels) return;
  typename Map::Factors factors[kCount];
#pragma unroll
  for (int j = 0; j < kCount; ++j) factors[j] = map.factors_of(channel + j);
  const std::int64_t step = static_cast<std::int64_t>(gridDim.y) * plan.height;
  for (std::int64_t row = static_cast<std::int64_t>(blockIdx.y) * plan.height + threadIdx.x / plan.lanes;
       row < plan.outer; row += kMapUnroll * step) {
    map.template run<kMapUnroll, kCount>([&](int j) { return factors[j]; },
                                         [&](int u) { return (row + u * step) * plan.channels + channel; },
                                         [&](int u) { return row + u * step < plan.outer; });
  }
}

template <class Map, int kCount>
__global__ void __launch_bounds__(kChannelThreads) map_runs(Map map, ChannelPlan plan) {
  const int runs_of_block = kChannelThreads / plan.lanes, lane = static_cast<int>(threadIdx.x) & (plan.lanes - 1);
  const std::int64_t run =
      static_cast<std::int64_t>(blockIdx.x) * runs_of_block + static_cast<int>(threadIdx.x) / plan.lanes;
  if (run >= plan.outer * plan.channels) return;
  const typename Map::Factors factors = map.factors_of(run % plan.channels);
  const std::int64_t start = run * plan.inner, step = static_cast<std::int64_t>(plan.lanes) * kCount;
  for (std::int64_t place = static_cast<std::int64_t>(lane) * kCount; place < plan.inner; place += kMapUnroll * step) {
    map.template run<kMapUnroll, kCount>([&](int) { return factors; }, [&](int u) { return start + place + u * step; },
                                         [&](int u) { return place + u * step < plan.inner; });
  }
}

template <class Map, int kCount>
void launch_map(const Map& map, const ChannelPlan& plan, cudaStream_t stream) {
  if (plan.is_last()) {
    constexpr std::int64_t kBlocks = 2112;
    const std::int64_t rows_of_block = static_cast<std::int64_t>(kMapUnroll) * plan.height;
    const std::int64_t high = std::clamp<std::int64_t>((plan.outer + rows_of_block - 1) / rows_of_block, 1,
                                                       std::max<std::int64_t>(1, kBlocks / plan.tiles));
    const dim3 blocks(static_cast<unsigned int>(plan.tiles), static_cast<unsigned int>(high));
    map_columns<Map, kCount><<<blocks, plan.lanes * plan.height, 0, stream>>>(map, plan);
  } else {
    const std::int64_t runs = plan.outer * plan.channels, runs_of_block = kChannelThreads / plan.lanes;
    const auto blocks = static_cast<unsigned int>((runs + runs_of_block - 1) / runs_of_block);
    map_runs<Map, kCount><<<blocks, kChannelThreads, 0, stream>>>(map, plan);
  }
  cohort::cuda::check(cudaGetLastError());
}

}  // namespace cohort::kernels::cuda
