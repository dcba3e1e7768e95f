#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "cohort/kernels/cuda/conv_sizes.h"
#include "cohort/kernels/cuda/element.h"
#include "cohort/kernels/cuda/index_math.h"
#include "cohort/kernels/cuda/launch.h"

namespace cohort::kernels::cuda {

inline constexpr int kFewChannels = 4;
// Neighbouring filters of a thread, and the threads that filters of a pixel are spread over at most.
inline constexpr int kThreadFilters = 4, kFilterLanes = 16;
// Pixels that a thread has at a time: each weight, or what flows back, is read for all of them.
inline constexpr int kThreadPixels = 4;
// Numbers of a block in shared memory, below the 48 KiB that every kernel may have.
inline constexpr int kPatchWeights = 6144, kPatchNumbers = 5120;
inline constexpr int kWindowElements = 256;

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

  // All tiles have numbers of 31 bits, which are divided much sooner than longer ones.
  __device__ TilePlace(const PatchTiles& tiles, std::int64_t tile) {
    const int line = static_cast<int>(tile) / tiles.tiles_across, down = line / tiles.tiles_down;
    image = down;
    x = (static_cast<int>(tile) - line * tiles.tiles_across) * tiles.tile_width;
    y = (line - down * tiles.tiles_down) * tiles.tile_height;
  }
};

// The part of the image that a tile reads, zeros outside of the image.
template <int kThreads = kBlock, class T>
__device__ inline void load_patch(const PatchTiles& tiles, const TilePlace& place, const T* __restrict__ x,
                                  float* patch) {
  const int height = static_cast<int>(tiles.down.inputs), line = static_cast<int>(tiles.across.inputs) * tiles.channels;
  const int first_y = place.y * static_cast<int>(tiles.down.stride) - static_cast<int>(tiles.down.before);
  const int first_x =
      (place.x * static_cast<int>(tiles.across.stride) - static_cast<int>(tiles.across.before)) * tiles.channels;
  const T* image = x + place.image * height * line;
  for (int i = static_cast<int>(threadIdx.x); i < tiles.patch_size(); i += kThreads) {
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

inline int cut_evenly(std::int64_t size, std::int64_t wanted) {
  const std::int64_t pieces = (size + wanted - 1) / wanted;
  return static_cast<int>((size + pieces - 1) / pieces);
}
inline int reach_of(const ConvWindow& axis, std::int64_t outputs) {
  return static_cast<int>((outputs - 1) * axis.stride + (axis.taps - 1) * axis.dilation + 1);
}

// Tiles of about `wanted` pixels whose sides are multiples of `step` and whose patch has at most so many numbers; false
// where the smallest one's has more.
inline bool choose_tile(PatchTiles& tiles, std::int64_t wanted, int step, int most_patch) {
  constexpr std::int64_t kWidest = 64;
  for (; wanted > 0; wanted /= 2) {
    const auto side = [&](const ConvWindow& axis, std::int64_t most) {
      return step * cut_evenly(axis.outputs / step, std::max<std::int64_t>(1, most / step));
    };
    tiles.tile_width = side(tiles.across, std::min(wanted, kWidest));
    tiles.tile_height = side(tiles.down, wanted / tiles.tile_width);
    tiles.patch_height = reach_of(tiles.down, tiles.tile_height);
    tiles.patch_width = reach_of(tiles.across, tiles.tile_width);
    const std::int64_t size = std::int64_t{tiles.patch_height} * tiles.patch_width * tiles.channels;
    if (size <= most_patch) return true;
  }
  return false;
}

// Sizes whose products, computed one by one, take no longer than a library's kernels with all that they need before
// and behind them.
inline bool worth_own_kernel(const ConvSizes& sizes) {
  constexpr std::int64_t kFewRows = 32, kLittleWork = std::int64_t{1} << 27;
  const std::int64_t rows = sizes.taps() * sizes.channels;
  return rows <= kFewRows || sizes.outputs() * sizes.filters <= kLittleWork / rows;
}

inline bool suits_few_channels(const ConvSizes& sizes, DType dtype) {
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

// Tiles for blocks of kBlock threads that take `wanted_turns` turns, with sides that are multiples of `step`, as
// outputs along both axes must be; nothing for sizes and types that are left to others.
inline std::optional<PatchTiles> make_patch_tiles(const ConvSizes& sizes, DType dtype, int most_lanes,
                                                  std::int64_t wanted_turns, int most_patch, int step = 1) {
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
  if (!choose_tile(tiles, wanted_turns * tiles.slots() * kThreadPixels, step, most_patch)) return std::nullopt;
  tiles.tiles_down = (static_cast<int>(tiles.down.outputs) + tiles.tile_height - 1) / tiles.tile_height;
  tiles.tiles_across = (static_cast<int>(tiles.across.outputs) + tiles.tile_width - 1) / tiles.tile_width;
  tiles.tiles = sizes.batch * tiles.tiles_down * tiles.tiles_across;
  constexpr std::int64_t kMostBlocks = 0x7fffffff, kMostChunks = 0xffff;
  if (tiles.tiles > kMostBlocks || tiles.chunks > kMostChunks) return std::nullopt;
  tiles.by_tile_width = BoundedDivider(tiles.tile_width, tiles.pixels() + kBlock * kThreadPixels);
  tiles.by_patch_line = BoundedDivider(tiles.patch_line(), tiles.patch_size());
  return tiles;
}

}  // namespace cohort::kernels::cuda
