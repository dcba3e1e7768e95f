#include "cohort/kernels/cuda/conv_few_channels.h"

#include <algorithm>
#include <optional>
#include <string>

#include "cohort/kernels/cuda/conv_parts.h"
#include "cohort/kernels/cuda/element.h"
#include "cohort/kernels/cuda/elementwise.h"
#include "cohort/kernels/cuda/index_math.h"
#include "cohort/kernels/cuda/launch.h"
#include "cohort/kernels/cuda/multiply_add.h"
#include "cohort/kernels/cuda/words.h"

namespace cohort::kernels::cuda {
namespace {

constexpr int kFewChannels = 4;
// Neighbouring filters of a thread, and the threads that filters of a pixel are spread over at most.
constexpr int kThreadFilters = 4, kFilterLanes = 16;
// Pixels that a thread has at a time: each weight, or what flows back, is read for all of them.
constexpr int kThreadPixels = 4;
// Numbers of a block in shared memory, below the 48 KiB that every kernel may have.
constexpr int kPatchWeights = 6144, kPatchNumbers = 5120;
constexpr int kWindowElements = 256;
// Elements of a window for which a thread has sums of a kernel's gradient.
constexpr int kThreadRows = 9;
// Sums of all threads of a block, and one row more: what its shared memory holds at the end.
constexpr int kThreadSums = kBlock * (kThreadRows + 1) * kThreadFilters;
// Blocks that fill a large GPU twice; a number of its own, since results must not depend on the machine.
constexpr std::int64_t kPatchBlocks = 264;

// Output pixels in tiles, and the patch of the image that a tile reads, as kernels get them. A row of the kernel is one
// element of a window: tap * channels + channel.
struct PatchTiles {
  int channels, filters, rows;
  int lanes, chunks;  // threads along the filters; blocks along them
  ConvWindow down, across;
  int tile_height, tile_width, tiles_down, tiles_across;
  int patch_height, patch_width;
  std::int64_t tiles;  // of all images
  BoundedDivider by_tile_width, by_patch_line;

  int slots() const { return kBlock / lanes; }
  __host__ __device__ int pixels() const { return tile_height * tile_width; }
  __host__ __device__ int patch_line() const { return patch_width * channels; }
  __host__ __device__ int patch_size() const { return patch_height * patch_line(); }
  __host__ __device__ int chunk_filters() const { return lanes * kThreadFilters; }

  // Where the window of the pixel at (y, x) of a tile begins in the patch.
  __device__ int window_at(int y, int x) const {
    return (y * static_cast<int>(down.stride) * patch_width + x * static_cast<int>(across.stride)) * channels;
  }
  // Where a row of the kernel reads, from there on.
  __device__ int row_at(int row) const {
    const int tap = row / channels, taps_across = static_cast<int>(across.taps);
    const int y = tap / taps_across * static_cast<int>(down.dilation);
    const int x = tap % taps_across * static_cast<int>(across.dilation);
    return (y * patch_width + x) * channels + row % channels;
  }
};

// A tile: its image and its first output pixel.
struct TilePlace {
  std::int64_t image;
  int y, x;

  __device__ TilePlace(const PatchTiles& tiles, std::int64_t tile) {
    const std::int64_t line = tile / tiles.tiles_across;
    image = line / tiles.tiles_down;
    x = static_cast<int>(tile - line * tiles.tiles_across) * tiles.tile_width;
    y = static_cast<int>(line - image * tiles.tiles_down) * tiles.tile_height;
  }
};

// The part of the image that a tile reads, zeros outside of the image.
template <class T>
__device__ inline void load_patch(const PatchTiles& tiles, const TilePlace& place, const T* __restrict__ x,
                                  float* patch) {
  const int height = static_cast<int>(tiles.down.inputs), line = static_cast<int>(tiles.across.inputs) * tiles.channels;
  const int first_y = place.y * static_cast<int>(tiles.down.stride) - static_cast<int>(tiles.down.before);
  const int first_x =
      (place.x * static_cast<int>(tiles.across.stride) - static_cast<int>(tiles.across.before)) * tiles.channels;
  const T* image = x + place.image * height * line;
  for (int i = static_cast<int>(threadIdx.x); i < tiles.patch_size(); i += kBlock) {
    std::int64_t rest = i;
    const int at_y = first_y + static_cast<int>(tiles.by_patch_line.split(rest));
    const int at_x = first_x + static_cast<int>(rest);
    const bool inside = at_y >= 0 && at_y < height && at_x >= 0 && at_x < line;
    patch[i] = inside ? widened(image[at_y * line + at_x]) : 0.0f;
  }
}

// The weights of the block's filters, zeros where there are no more filters.
template <class T>
__device__ inline void load_patch_weights(const PatchTiles& tiles, int first_filter, const T* __restrict__ kernel,
                                          float* weights, int* offsets) {
  const int width = tiles.chunk_filters();
  for (int i = static_cast<int>(threadIdx.x); i < tiles.rows * width; i += kBlock) {
    const int row = i / width, filter = first_filter + i % width;
    weights[i] = filter < tiles.filters ? widened(kernel[row * tiles.filters + filter]) : 0.0f;
  }
  for (int row = static_cast<int>(threadIdx.x); row < tiles.rows; row += kBlock) offsets[row] = tiles.row_at(row);
}

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

int cut_evenly(std::int64_t size, std::int64_t wanted) {
  const std::int64_t pieces = (size + wanted - 1) / wanted;
  return static_cast<int>((size + pieces - 1) / pieces);
}
int reach_of(const ConvWindow& axis, std::int64_t outputs) {
  return static_cast<int>((outputs - 1) * axis.stride + (axis.taps - 1) * axis.dilation + 1);
}

// Tiles of about `wanted` pixels whose patch has at most so many numbers; false where one pixel's has more.
bool choose_tile(PatchTiles& tiles, std::int64_t wanted, int most_patch) {
  constexpr std::int64_t kWidest = 64;
  for (; wanted > 0; wanted /= 2) {
    tiles.tile_width = cut_evenly(tiles.across.outputs, std::min(wanted, kWidest));
    tiles.tile_height = cut_evenly(tiles.down.outputs, std::max<std::int64_t>(1, wanted / tiles.tile_width));
    tiles.patch_height = reach_of(tiles.down, tiles.tile_height);
    tiles.patch_width = reach_of(tiles.across, tiles.tile_width);
    const std::int64_t size = std::int64_t{tiles.patch_height} * tiles.patch_width * tiles.channels;
    if (size <= most_patch) return true;
  }
  return false;
}

// Sizes whose products, computed one by one, take no longer than a library's kernels with all that they need before
// and behind them.
bool worth_own_kernel(const ConvSizes& sizes) {
  constexpr std::int64_t kFewRows = 32, kLittleWork = std::int64_t{1} << 27;
  const std::int64_t rows = sizes.taps() * sizes.channels;
  return rows <= kFewRows || sizes.outputs() * sizes.filters <= kLittleWork / rows;
}

bool suits_few_channels(const ConvSizes& sizes, DType dtype) {
  constexpr std::int64_t kLargest = 1 << 28, kLongest = 1 << 20;  // of an image or an axis; patches stay within int
  const ConvWindow &depth = sizes.axes[0], &down = sizes.axes[1], &across = sizes.axes[2];
  const bool flat = depth.inputs == 1 && depth.taps == 1 && depth.outputs == 1;
  if (dtype == DType::Float64 || !flat || sizes.groups != 1 || sizes.channels > kFewChannels) return false;
  if (sizes.inputs() * sizes.channels == 0 || sizes.outputs() * sizes.filters == 0 || sizes.kernel_size() == 0) {
    return false;
  }
  for (const ConvWindow* axis : {&down, &across}) {
    const bool fits = axis->inputs <= kLongest && axis->stride <= kLongest && axis->before <= kLongest &&
                      axis->taps <= kWindowElements && axis->dilation <= kLongest;
    if (!fits) return false;
  }
  return sizes.taps() * sizes.channels <= kWindowElements && sizes.filters <= kLongest &&
         down.inputs * across.inputs * sizes.channels <= kLargest &&
         down.outputs * across.outputs * sizes.filters <= kLargest && worth_own_kernel(sizes);
}

std::optional<PatchTiles> make_patch_tiles(const ConvSizes& sizes, DType dtype, int most_lanes,
                                           std::int64_t wanted_turns, int most_patch) {
  if (!suits_few_channels(sizes, dtype)) return std::nullopt;
  PatchTiles tiles{};
  tiles.channels = static_cast<int>(sizes.channels);
  tiles.filters = static_cast<int>(sizes.filters);
  tiles.rows = static_cast<int>(sizes.taps()) * tiles.channels;
  tiles.down = sizes.axes[1];
  tiles.across = sizes.axes[2];
  const int groups = (tiles.filters + kThreadFilters - 1) / kThreadFilters;
  tiles.lanes = cut_evenly(groups, most_lanes);
  tiles.chunks = (groups + tiles.lanes - 1) / tiles.lanes;
  if (!choose_tile(tiles, wanted_turns * tiles.slots() * kThreadPixels, most_patch)) return std::nullopt;
  tiles.tiles_down = (static_cast<int>(tiles.down.outputs) + tiles.tile_height - 1) / tiles.tile_height;
  tiles.tiles_across = (static_cast<int>(tiles.across.outputs) + tiles.tile_width - 1) / tiles.tile_width;
  tiles.tiles = sizes.batch * tiles.tiles_down * tiles.tiles_across;
  constexpr std::int64_t kMostBlocks = 0x7fffffff, kMostChunks = 0xffff;
  if (tiles.tiles > kMostBlocks || tiles.chunks > kMostChunks) return std::nullopt;
  tiles.by_tile_width = BoundedDivider(tiles.tile_width, tiles.pixels() + kBlock * kThreadPixels);
  tiles.by_patch_line = BoundedDivider(tiles.patch_line(), tiles.patch_size());
  return tiles;
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
