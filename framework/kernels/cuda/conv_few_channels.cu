#include "cohort/kernels/cuda/conv_few_channels.h"

#include <algorithm>
#include <optional>
#include <string>

#include "cohort/kernels/cuda/conv_parts.h"
#include "cohort/kernels/cuda/conv_patch_tiles.h"
#include "cohort/kernels/cuda/element.h"
#include "cohort/kernels/cuda/elementwise.h"
#include "cohort/kernels/cuda/multiply_add.h"
#include "cohort/kernels/cuda/words.h"

namespace cohort::kernels::cuda {
namespace {

// Elements of a window for which a thread has sums of a kernel's gradient.
constexpr int kThreadRows = 9;
// Sums of all threads of a block, and one row more: what its shared memory holds at the end.
constexpr int kThreadSums = kBlock * (kThreadRows + 1) * kThreadFilters;
// Blocks that fill a large GPU twice; a number of its own, since results must not depend on the machine.
constexpr std::int64_t kPatchBlocks = 264;

// What follows the sum of a pixel and filter.
template <class T>
struct FewFinish {
  const T* bias;  // null for none
  bool relu;

  __device__ T operator()(float sum, int filter) const {
    T y = narrowed<T>(sum);
    if (bias) y = narrowed<T>(fn::Add{}(widened(y), widened(bias[filter])));
    return relu ? narrowed<T>(fn::Relu{}(widened(y))) : y;
  }
};

// `packed`: all filters of a thread are written at once.
template <class T>
__device__ inline void store_filters(const float (&sums)[kThreadFilters], const FewFinish<T>& finish, int first_filter,
                                     int filters, bool packed, T* __restrict__ to) {
  if (packed) {
    Pack<T, kThreadFilters> pack;
#pragma unroll
    for (int k = 0; k < kThreadFilters; ++k) pack.values[k] = finish(sums[k], first_filter + k);
    *reinterpret_cast<Pack<T, kThreadFilters>*>(to) = pack;
    return;
  }
#pragma unroll
  for (int k = 0; k < kThreadFilters; ++k) {
    if (first_filter + k < filters) to[k] = finish(sums[k], first_filter + k);
  }
}

// A block has a tile and, by blockIdx.y, some of the filters.
template <class T>
__global__ void __launch_bounds__(kBlock)
    few_channels_forward(const __grid_constant__ PatchTiles tiles, const T* __restrict__ x,
                         const T* __restrict__ kernel, T* __restrict__ y, FewFinish<T> finish, bool packed) {
  extern __shared__ float4 few_channels_memory[];
  auto* weights = reinterpret_cast<float*>(few_channels_memory);
  auto* offsets = reinterpret_cast<int*>(weights + tiles.rows * tiles.chunk_filters());
  auto* patch = reinterpret_cast<float*>(offsets + tiles.rows);
  const TilePlace place(tiles, blockIdx.x);
  const int lane = static_cast<int>(threadIdx.x) % tiles.lanes, slot = static_cast<int>(threadIdx.x) / tiles.lanes;
  const int slots = kBlock / tiles.lanes, first_filter = static_cast<int>(blockIdx.y) * tiles.chunk_filters();
  load_patch_weights(tiles, first_filter, kernel, weights, offsets);
  load_patch(tiles, place, x, patch);
  __syncthreads();
  const int filter = first_filter + lane * kThreadFilters;
  if (slot >= slots || filter >= tiles.filters) return;

  const int outputs_down = static_cast<int>(tiles.down.outputs),
            outputs_across = static_cast<int>(tiles.across.outputs);
  T* image = y + place.image * outputs_down * outputs_across * tiles.filters + filter;
  const int pixels = tiles.pixels();
  for (int first = slot; first < pixels; first += slots * kThreadPixels) {
    float sums[kThreadPixels][kThreadFilters] = {};
    const float* windows[kThreadPixels];
    int lines[kThreadPixels], columns[kThreadPixels];
#pragma unroll
    for (int p = 0; p < kThreadPixels; ++p) {
      // The last pixel stands for those behind it.
      std::int64_t column = min(first + p * slots, pixels - 1);
      lines[p] = static_cast<int>(tiles.by_tile_width.split(column));
      columns[p] = static_cast<int>(column);
      windows[p] = patch + tiles.window_at(lines[p], columns[p]);
    }
#pragma unroll 3
    for (int row = 0; row < tiles.rows; ++row) {
      const float4 four = reinterpret_cast<const float4*>(weights)[row * tiles.lanes + lane];
      const int offset = offsets[row];
#pragma unroll
      for (int p = 0; p < kThreadPixels; ++p) {
        const float value = windows[p][offset];
        sums[p][0] = multiply_add(value, four.x, sums[p][0]);
        sums[p][1] = multiply_add(value, four.y, sums[p][1]);
        sums[p][2] = multiply_add(value, four.z, sums[p][2]);
        sums[p][3] = multiply_add(value, four.w, sums[p][3]);
      }
    }
#pragma unroll
    for (int p = 0; p < kThreadPixels; ++p) {
      const int at_y = place.y + lines[p], at_x = place.x + columns[p];
      if (first + p * slots >= pixels || at_y >= outputs_down || at_x >= outputs_across) continue;
      store_filters(sums[p], finish, filter, tiles.filters, packed,
                    image + (at_y * outputs_across + at_x) * tiles.filters);
    }
  }
}

template <class T>
__device__ inline void load_filters(const T* __restrict__ from, int count, bool packed,
                                    float (&values)[kThreadFilters]) {
  if (packed) {
    const auto pack = *reinterpret_cast<const Pack<T, kThreadFilters>*>(from);
#pragma unroll
    for (int k = 0; k < kThreadFilters; ++k) values[k] = widened(pack.values[k]);
    return;
  }
#pragma unroll
  for (int k = 0; k < kThreadFilters; ++k) values[k] = k < count ? widened(from[k]) : 0.0f;
}

// Adds up what the threads of a block have for each row and filter, and writes the block's part. What stands behind the
// last row are the sums of what flows back; a block whose `end_row` is there writes them behind those of the kernel.
__device__ inline void write_block_sums(const PatchTiles& tiles, const float (&sums)[kThreadRows + 1][kThreadFilters],
                                        int first_row, int end_row, int first_filter, float* shared,
                                        float* __restrict__ part) {
  const int lane = static_cast<int>(threadIdx.x) % tiles.lanes, slot = static_cast<int>(threadIdx.x) / tiles.lanes;
  const int slots = kBlock / tiles.lanes, width = tiles.chunk_filters();
  __syncthreads();  // the patch is still read
  if (slot < slots) {
#pragma unroll
    for (int r = 0; r <= kThreadRows; ++r) {
      reinterpret_cast<float4*>(shared)[(slot * (kThreadRows + 1) + r) * tiles.lanes + lane] =
          make_float4(sums[r][0], sums[r][1], sums[r][2], sums[r][3]);
    }
  }
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < (kThreadRows + 1) * width; i += kBlock) {
    const bool of_flow = i / width == kThreadRows;
    const int row = of_flow ? tiles.rows : first_row + i / width, filter = first_filter + i % width;
    if (row >= (of_flow ? end_row : tiles.rows) || filter >= tiles.filters) continue;
    float sum = 0;
#pragma unroll 8
    for (int s = 0; s < slots; ++s) sum += shared[s * (kThreadRows + 1) * width + i];
    part[row * tiles.filters + filter] = sum;
  }
}

// A block has every so many tiles, by blockIdx.y some rows of the kernel, and by blockIdx.z some of the filters.
template <class T>
__global__ void __launch_bounds__(kBlock)
    few_channels_gradient(const __grid_constant__ PatchTiles tiles, const T* __restrict__ x, const T* __restrict__ dy,
                          float* __restrict__ parts, bool has_sums, bool packed) {
  __shared__ alignas(16) float shared[kThreadSums];
  const int lane = static_cast<int>(threadIdx.x) % tiles.lanes, slot = static_cast<int>(threadIdx.x) / tiles.lanes;
  const int slots = kBlock / tiles.lanes, first_row = static_cast<int>(blockIdx.y) * kThreadRows;
  const int first_filter = static_cast<int>(blockIdx.z) * tiles.chunk_filters(),
            filter = first_filter + lane * kThreadFilters;
  const bool works = slot < slots && filter < tiles.filters;
  const int outputs_down = static_cast<int>(tiles.down.outputs),
            outputs_across = static_cast<int>(tiles.across.outputs);
  const int pixels = tiles.pixels();
  int offsets[kThreadRows];
#pragma unroll
  for (int r = 0; r < kThreadRows; ++r) offsets[r] = tiles.row_at(min(first_row + r, tiles.rows - 1));

  float sums[kThreadRows + 1][kThreadFilters] = {};
  for (std::int64_t tile = blockIdx.x; tile < tiles.tiles; tile += gridDim.x) {
    const TilePlace place(tiles, tile);
    const T* flows = dy + place.image * outputs_down * outputs_across * tiles.filters + filter;
    __syncthreads();  // the last patch may still be read
    load_patch(tiles, place, x, shared);
    __syncthreads();
    for (int first = slot; works && first < pixels; first += slots * kThreadPixels) {
      float flow[kThreadPixels][kThreadFilters];
      int windows[kThreadPixels];  // -1 where there is no pixel
#pragma unroll
      for (int p = 0; p < kThreadPixels; ++p) {
        std::int64_t column = first + p * slots;
        const int line = static_cast<int>(tiles.by_tile_width.split(column));
        const int at_y = place.y + line, at_x = place.x + static_cast<int>(column);
        const bool exists = first + p * slots < pixels && at_y < outputs_down && at_x < outputs_across;
        windows[p] = exists ? tiles.window_at(line, static_cast<int>(column)) : -1;
        if (exists) {
          load_filters(flows + (at_y * outputs_across + at_x) * tiles.filters, tiles.filters - filter, packed, flow[p]);
        }
      }
#pragma unroll
      for (int p = 0; p < kThreadPixels; ++p) {
        if (windows[p] < 0) continue;
#pragma unroll
        for (int k = 0; k < kThreadFilters; ++k) sums[kThreadRows][k] += flow[p][k];
#pragma unroll
        for (int r = 0; r < kThreadRows; ++r) {
          const float value = shared[windows[p] + offsets[r]];
#pragma unroll
          for (int k = 0; k < kThreadFilters; ++k) sums[r][k] = multiply_add(value, flow[p][k], sums[r][k]);
        }
      }
    }
  }
  const int rows = tiles.rows + (has_sums ? 1 : 0);  // of a part
  write_block_sums(tiles, sums, first_row, blockIdx.y == 0 ? rows : tiles.rows, first_filter, shared,
                   parts + static_cast<std::int64_t>(blockIdx.x) * rows * tiles.filters);
}

// Whether the filters of a thread lie in memory as one access wants them.
bool can_pack_filters(const PatchTiles& tiles, const void* memory, std::size_t element) {
  return tiles.filters % kThreadFilters == 0 && is_aligned_to(memory, kThreadFilters * element);
}

}  // namespace

KernelFn few_channels_conv(const KernelSpec& spec, const ConvSizes& sizes, bool has_bias) {
  const DType dtype = spec.output(0).dtype;
  const std::string activation = has_bias ? spec.attr<std::string>("activation") : "";
  if (!activation.empty() && activation != "Relu") return {};
  const auto rows = static_cast<int>(std::clamp<std::int64_t>(sizes.taps() * sizes.channels, 1, kWindowElements));
  const int most_lanes = std::min(kFilterLanes, kPatchWeights / (rows * kThreadFilters));
  const std::optional<PatchTiles> made = make_patch_tiles(sizes, dtype, most_lanes, 2, kPatchNumbers);
  if (!made) return {};
  return visit_floating(dtype, [&](auto type) -> KernelFn {
    using T = typename decltype(type)::type;
    if constexpr (std::is_same_v<T, double>) {
      return {};
    } else {
      return [=, tiles = *made, relu = activation == "Relu"](const KernelIO& io) {
        const dim3 blocks(static_cast<unsigned int>(tiles.tiles), static_cast<unsigned int>(tiles.chunks));
        const int words = tiles.rows * (tiles.chunk_filters() + 1) + tiles.patch_size();
        const FewFinish<T> finish{has_bias ? io.in<T>(2) : nullptr, relu};
        few_channels_forward<T><<<blocks, kBlock, static_cast<std::size_t>(words) * sizeof(float), stream_of(io)>>>(
            tiles, io.in<T>(0), io.in<T>(1), io.out<T>(0), finish, can_pack_filters(tiles, io.outputs[0], sizeof(T)));
        cohort::cuda::check(cudaGetLastError());
      };
    }
  });
}

KernelFn few_channels_kernel_gradient(const KernelSpec& spec, const ConvSizes& sizes, bool has_sums) {
  const DType dtype = spec.output(0).dtype;
  auto* device = &cohort::cuda::device_of(spec);
  const std::optional<PatchTiles> made = make_patch_tiles(sizes, dtype, kFilterLanes, 3, kThreadSums);
  if (!made) return {};
  const std::int64_t groups = (made->rows + kThreadRows - 1) / kThreadRows, beside = groups * made->chunks;
  const std::int64_t parts = std::min(made->tiles, (kPatchBlocks + beside - 1) / beside);
  const std::int64_t elements = sizes.kernel_size(), more = has_sums ? sizes.filters : 0;
  device->reserve_workspace(static_cast<std::size_t>(parts * (elements + more)) * sizeof(float));
  return visit_floating(dtype, [&](auto type) -> KernelFn {
    using T = typename decltype(type)::type;
    if constexpr (std::is_same_v<T, double>) {
      return {};
    } else {
      return [=, tiles = *made](const KernelIO& io) {
        auto* sums = static_cast<float*>(device->workspace());
        const dim3 blocks(static_cast<unsigned int>(parts), static_cast<unsigned int>(groups),
                          static_cast<unsigned int>(tiles.chunks));
        few_channels_gradient<T><<<blocks, kBlock, 0, stream_of(io)>>>(
            tiles, io.in<T>(0), io.in<T>(1), sums, has_sums, can_pack_filters(tiles, io.inputs[1], sizeof(T)));
        cohort::cuda::check(cudaGetLastError());
        const PartsTarget<T> target{io.out<T>(0), elements, has_sums ? io.out<T>(1) : nullptr, more};
        enqueue_sum_of_parts(sums, target, parts, stream_of(io));
      };
    }
  });
}

}  // namespace cohort::kernels::cuda
