#include <cstdint>
#include <optional>

#include "cohort/kernels/cuda/conv_parts.h"
#include "cohort/kernels/cuda/conv_patch_tiles.h"
#include "cohort/kernels/cuda/elementwise.h"
#include "cohort/kernels/cuda/groups.h"
#include "cohort/kernels/cuda/multiply_add.h"
#include "cohort/kernels/cuda/words.h"
#include "cohort/kernels/functors.h"

namespace cohort::kernels::cuda {
namespace {

// Windows of the pooling have so many pixels along both axes; one of their pixels is chosen, or none.
constexpr int kPoolSide = 2, kPoolPixels = kPoolSide * kPoolSide;
constexpr std::uint8_t kNoPixel = kPoolPixels;
// Of a block for gradients: a warp has a filter in each lane, and so many windows of the pooling at a time.
constexpr int kPooledThreads = 512, kPooledWarps = kPooledThreads / kWarp, kPooledAtOnce = 6;
// Elements of a convolution's window for which a thread has sums.
constexpr int kPooledRows = 9;
constexpr int kPooledSums = kPooledThreads * (kPooledRows + 1);
// Blocks that fill a large GPU twice; a number of its own, since results must not depend on the machine.
constexpr std::int64_t kPooledBlocks = 264;

// Tiles whose sides are those of whole windows of the pooling, as kernels get them.
struct PooledTiles {
  PatchTiles tiles;
  int height, width;            // of what comes out
  int tile_height, tile_width;  // of a tile of it
  BoundedDivider by_width;      // of such a tile

  explicit PooledTiles(const PatchTiles& tiles)
      : tiles(tiles),
        height(static_cast<int>(tiles.down.outputs) / kPoolSide),
        width(static_cast<int>(tiles.across.outputs) / kPoolSide),
        tile_height(tiles.tile_height / kPoolSide),
        tile_width(tiles.tile_width / kPoolSide),
        by_width(tile_width, tiles.pixels() + kPooledThreads * kPooledAtOnce) {}
  __device__ int count() const { return tile_height * tile_width; }
};

// A window of the pooling: where it is in its tile, and among all of them.
struct PooledPlace {
  int line, column;
  std::int64_t at;
  bool exists;

  __device__ PooledPlace(const PooledTiles& pooled, const TilePlace& tile, int number) {
    std::int64_t rest = number;
    line = static_cast<int>(pooled.by_width.split(rest));
    column = static_cast<int>(rest);
    const int y = tile.y / kPoolSide + line, x = tile.x / kPoolSide + column;
    exists = number < pooled.count() && y < pooled.height && x < pooled.width;
    at = (tile.image * pooled.height + y) * pooled.width + x;
  }
};

// The largest of a window's pixels, after bias and relu, and which one it is; no pixel where the relu holds it back.
struct PooledPixel {
  float value;
  std::uint8_t chosen;

  __device__ PooledPixel(const float (&sums)[kPoolPixels][kThreadFilters], int filter, float bias) {
    int where = 0;
#pragma unroll
    for (int p = 0; p < kPoolPixels; ++p) {
      const float y = fn::Relu{}(fn::Add{}(sums[p][filter], bias));
      const bool larger = p == 0 || value < y;
      value = larger ? y : value;
      where = larger ? p : where;
    }
    chosen = value > 0 ? static_cast<std::uint8_t>(where) : kNoPixel;
  }
};

// A block has a tile and, by blockIdx.y, some of the filters; a thread all pixels of a window. `packed`: all filters of
// a thread are written at once.
__global__ void __launch_bounds__(kBlock)
    pooled_conv_forward(const __grid_constant__ PooledTiles pooled, const float* __restrict__ x,
                        const float* __restrict__ kernel, const float* __restrict__ bias, float* __restrict__ y,
                        std::uint8_t* __restrict__ chosen, bool packed) {
  const PatchTiles& tiles = pooled.tiles;
  extern __shared__ float4 pooled_conv_memory[];
  auto* weights = reinterpret_cast<float*>(pooled_conv_memory);
  auto* offsets = reinterpret_cast<int*>(weights + tiles.rows * tiles.chunk_filters());
  auto* patch = reinterpret_cast<float*>(offsets + tiles.rows);
  const TilePlace tile(tiles, blockIdx.x);
  const int lane = static_cast<int>(threadIdx.x) % tiles.lanes, slot = static_cast<int>(threadIdx.x) / tiles.lanes;
  const int slots = kBlock / tiles.lanes, first_filter = static_cast<int>(blockIdx.y) * tiles.chunk_filters();
  const int filter = first_filter + lane * kThreadFilters;
  float added[kThreadFilters];
#pragma unroll
  for (int k = 0; k < kThreadFilters; ++k) added[k] = filter + k < tiles.filters ? bias[filter + k] : 0.0f;
  load_patch_weights(tiles, first_filter, kernel, weights, offsets);
  load_patch(tiles, tile, x, patch);
  __syncthreads();
  if (slot >= slots || filter >= tiles.filters) return;

  for (int number = slot; number < pooled.count(); number += slots) {
    const PooledPlace place(pooled, tile, number);
    if (!place.exists) continue;
    const float* windows[kPoolPixels];
#pragma unroll
    for (int p = 0; p < kPoolPixels; ++p) {
      windows[p] =
          patch + tiles.window_at(place.line * kPoolSide + p / kPoolSide, place.column * kPoolSide + p % kPoolSide);
    }
    float sums[kPoolPixels][kThreadFilters] = {};
#pragma unroll 3
    for (int row = 0; row < tiles.rows; ++row) {
      const float4 four = reinterpret_cast<const float4*>(weights)[row * tiles.lanes + lane];
      const int offset = offsets[row];
#pragma unroll
      for (int p = 0; p < kPoolPixels; ++p) {
        const float value = windows[p][offset];
        sums[p][0] = multiply_add(value, four.x, sums[p][0]);
        sums[p][1] = multiply_add(value, four.y, sums[p][1]);
        sums[p][2] = multiply_add(value, four.z, sums[p][2]);
        sums[p][3] = multiply_add(value, four.w, sums[p][3]);
      }
    }
    Pack<float, kThreadFilters> values;
    Pack<std::uint8_t, kThreadFilters> pixels;
#pragma unroll
    for (int k = 0; k < kThreadFilters; ++k) {
      const PooledPixel pixel(sums, k, added[k]);
      values.values[k] = pixel.value;
      pixels.values[k] = pixel.chosen;
    }
    const std::int64_t at = place.at * tiles.filters + filter;
    if (packed) {
      *reinterpret_cast<Pack<float, kThreadFilters>*>(y + at) = values;
      *reinterpret_cast<Pack<std::uint8_t, kThreadFilters>*>(chosen + at) = pixels;
      continue;
    }
#pragma unroll
    for (int k = 0; k < kThreadFilters; ++k) {
      if (filter + k >= tiles.filters) continue;
      y[at + k] = values.values[k];
      chosen[at + k] = pixels.values[k];
    }
  }
}

// What flows back to some windows of the pooling, for a thread's filter, and to which pixels.
struct PooledFlows {
  float values[kPooledAtOnce];
  int windows[kPooledAtOnce];  // of the convolution, in the patch

  __device__ void fetch(const PooledTiles& pooled, const TilePlace& tile, int first, int filter,
                        const float* __restrict__ dy, const std::uint8_t* __restrict__ chosen) {
    const PatchTiles& tiles = pooled.tiles;
    int pixels[kPooledAtOnce];
#pragma unroll
    for (int i = 0; i < kPooledAtOnce; ++i) {
      const PooledPlace place(pooled, tile, first + i * kPooledWarps);
      const bool exists = place.exists && filter < tiles.filters;
      const std::int64_t at = place.at * tiles.filters + filter;
      values[i] = exists ? dy[at] : 0.0f;
      pixels[i] = exists ? chosen[at] : kNoPixel;
      windows[i] = exists ? tiles.window_at(place.line * kPoolSide, place.column * kPoolSide) : 0;
    }
#pragma unroll
    for (int i = 0; i < kPooledAtOnce; ++i) {
      if (pixels[i] < kPoolPixels) {
        windows[i] += tiles.window_at(pixels[i] / kPoolSide, pixels[i] % kPoolSide);
      } else {
        values[i] = 0;
      }
    }
  }
};

// A block has every so many tiles, by blockIdx.y some rows of the kernel, and by blockIdx.z some of the filters. What
// stands behind the kernel's last row of a part are the sums of what flows back.
__global__ void __launch_bounds__(kPooledThreads, 2)
    pooled_conv_gradient(const __grid_constant__ PooledTiles pooled, const float* __restrict__ x,
                         const float* __restrict__ dy, const std::uint8_t* __restrict__ chosen,
                         float* __restrict__ parts) {
  __shared__ float shared[kPooledSums];  // the patch, and in the end what all threads have
  const PatchTiles& tiles = pooled.tiles;
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  const int first_row = static_cast<int>(blockIdx.y) * kPooledRows;
  const int filter = static_cast<int>(blockIdx.z) * kWarp + lane;
  // Found by one thread each: it takes divisions.
  __shared__ int found[kPooledRows];
  if (threadIdx.x < kPooledRows) {
    found[threadIdx.x] = tiles.row_at(min(first_row + static_cast<int>(threadIdx.x), tiles.rows - 1));
  }
  __syncthreads();
  int offsets[kPooledRows];
#pragma unroll
  for (int r = 0; r < kPooledRows; ++r) offsets[r] = found[r];

  float sums[kPooledRows + 1] = {};
  for (std::int64_t number = blockIdx.x; number < tiles.tiles; number += gridDim.x) {
    const TilePlace tile(tiles, number);
    PooledFlows flows;
    flows.fetch(pooled, tile, warp, filter, dy, chosen);
    __syncthreads();  // the last patch may still be read
    load_patch<kPooledThreads>(tiles, tile, x, shared);
    __syncthreads();
    for (int first = warp; first < pooled.count(); first += kPooledWarps * kPooledAtOnce) {
      if (first > warp) flows.fetch(pooled, tile, first, filter, dy, chosen);
#pragma unroll
      for (int i = 0; i < kPooledAtOnce; ++i) {
        sums[kPooledRows] += flows.values[i];
#pragma unroll
        for (int r = 0; r < kPooledRows; ++r) {
          sums[r] = multiply_add(shared[flows.windows[i] + offsets[r]], flows.values[i], sums[r]);
        }
      }
    }
  }

  __syncthreads();  // the patch is still read
#pragma unroll
  for (int r = 0; r <= kPooledRows; ++r) shared[(warp * (kPooledRows + 1) + r) * kWarp + lane] = sums[r];
  __syncthreads();
  float* part = parts + static_cast<std::int64_t>(blockIdx.x) * (tiles.rows + 1) * tiles.filters;
  for (int r = warp; r <= kPooledRows; r += kPooledWarps) {
    const bool of_flow = r == kPooledRows;
    const int row = of_flow ? tiles.rows : first_row + r;
    if (filter >= tiles.filters || (of_flow ? first_row > 0 : row >= tiles.rows)) continue;
    float sum = 0;
#pragma unroll
    for (int other = 0; other < kPooledWarps; ++other) sum += shared[(other * (kPooledRows + 1) + r) * kWarp + lane];
    part[row * tiles.filters + filter] = sum;
  }
}

// Nothing where there are no elements: the op lets no others pass for which there are no tiles.
std::optional<PooledTiles> make_pooled_tiles(ConvSizes sizes, std::int64_t turns) {
  for (int axis : {1, 2}) sizes.axes[axis].outputs -= sizes.axes[axis].outputs % kPoolSide;
  constexpr int kLanes = 8;  // of kThreadFilters filters each
  const std::optional<PatchTiles> tiles =
      make_patch_tiles(sizes, DType::Float32, kLanes, turns, kPatchNumbers, kPoolSide);
  if (!tiles) return std::nullopt;
  return PooledTiles(*tiles);
}

// (x, kernel, bias) -> pooled, chosen
KernelFn make_conv_relu_max_pool(const KernelSpec& spec) {
  const auto made = make_pooled_tiles(ConvSizes(spec, spec.input(0).shape, spec.input(1).shape), 2);
  if (!made) return [](const KernelIO&) {};
  return [pooled = *made](const KernelIO& io) {
    const PatchTiles& tiles = pooled.tiles;
    const dim3 blocks(static_cast<unsigned int>(tiles.tiles), static_cast<unsigned int>(tiles.chunks));
    const int words = tiles.rows * (tiles.chunk_filters() + 1) + tiles.patch_size();
    const bool packed = tiles.filters % kThreadFilters == 0 && is_aligned(io.outputs[0]) &&
                        is_aligned_to(io.outputs[1], kThreadFilters);
    pooled_conv_forward<<<blocks, kBlock, static_cast<std::size_t>(words) * sizeof(float), stream_of(io)>>>(
        pooled, io.in<float>(0), io.in<float>(1), io.in<float>(2), io.out<float>(0), io.out<std::uint8_t>(1), packed);
    cohort::cuda::check(cudaGetLastError());
  };
}

// (x, dy, chosen, like) -> dkernel, dbias
KernelFn make_conv_relu_max_pool_grad(const KernelSpec& spec) {
  const ConvSizes sizes(spec, spec.input(0).shape, spec.output(0).shape);
  auto* device = &cohort::cuda::device_of(spec);
  const auto made = make_pooled_tiles(sizes, 3);
  const std::int64_t elements = sizes.kernel_size(), filters = sizes.filters;
  const std::int64_t groups = (sizes.taps() * sizes.channels + kPooledRows - 1) / kPooledRows;
  const std::int64_t chunks = (filters + kWarp - 1) / kWarp, beside = groups * chunks;
  const std::int64_t parts = made ? std::min(made->tiles.tiles, (kPooledBlocks + beside - 1) / beside) : 0;
  device->reserve_workspace(static_cast<std::size_t>(parts * (elements + filters)) * sizeof(float));
  const dim3 blocks(static_cast<unsigned int>(parts), static_cast<unsigned int>(groups),
                    static_cast<unsigned int>(chunks));
  return [=](const KernelIO& io) {
    auto* sums = static_cast<float*>(device->workspace());
    if (made) {
      pooled_conv_gradient<<<blocks, kPooledThreads, 0, stream_of(io)>>>(*made, io.in<float>(0), io.in<float>(1),
                                                                         io.in<std::uint8_t>(2), sums);
      cohort::cuda::check(cudaGetLastError());
    }
    const PartsTarget<float> target{io.out<float>(0), elements, io.out<float>(1), filters};
    enqueue_sum_of_parts(sums, target, parts, stream_of(io));
  };
}

COHORT_KERNEL("ConvReluMaxPool", kGPU, make_conv_relu_max_pool);
COHORT_KERNEL("ConvReluMaxPoolGrad", kGPU, make_conv_relu_max_pool_grad);

}  // namespace
}  // namespace cohort::kernels::cuda
