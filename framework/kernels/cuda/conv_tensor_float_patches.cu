#include <algorithm>
#include <string>

#include "cohort/kernels/cuda/conv_tensor_float.h"
#include "cohort/kernels/cuda/groups.h"
#include "cohort/kernels/cuda/index_math.h"
#include "cohort/kernels/cuda/launch.h"
#include "cohort/kernels/cuda/row_finish_elements.h"
#include "cohort/kernels/cuda/tensor_core.h"

namespace cohort::kernels::cuda {
namespace {

// A warp has a square of what comes out: pixels x columns. So many warps share the sums of a square, each has every so
// many steps of them.
constexpr int kSquareSide = 32, kSquareShares = 2, kStepRows = 8;
// Rows of the weights that are in shared memory at a time, in one of two places.
constexpr int kTurnRows = 64;
// Elements of one access, and by how many a line in shared memory is longer, so that a warp meets no bank twice: where
// eight lines of four elements are read at a time, and where four lines of eight are.
constexpr int kPatchVector = 4, kLineGap = 4, kWideLineGap = 8;

// Along one axis, as ConvWindow has it.
struct PatchAxis {
  int inputs, taps, stride, dilation, before;

  explicit PatchAxis(const ConvWindow& window)
      : inputs(static_cast<int>(window.inputs)),
        taps(static_cast<int>(window.taps)),
        stride(static_cast<int>(window.stride)),
        dilation(static_cast<int>(window.dilation)),
        before(static_cast<int>(window.before)) {}
  __host__ __device__ int reach() const { return (taps - 1) * dilation + 1; }
  __device__ int first(int output) const { return output * stride - before; }
  __device__ bool has(int input) const { return input >= 0 && input < inputs; }
  __device__ int nearest(int input) const { return max(0, min(input, inputs - 1)); }
};

// A convolution of images of `depth` channels: windows of `rows` elements, tap by tap, are multiplied by weights with
// `columns` columns.
struct PatchSizes {
  int depth, columns, rows;
  PatchAxis down, across;
  int pixels;  // that come out
  BoundedDivider by_width, by_height, by_depth, by_vectors;

  __host__ __device__ int line() const { return depth + kLineGap; }  // of a pixel in shared memory
};

// A pixel that comes out.
struct PatchPixel {
  int image, y, x;

  __device__ PatchPixel(const PatchSizes& sizes, int pixel) {
    std::int64_t column = pixel;
    std::int64_t row = sizes.by_width.split(column);
    image = static_cast<int>(sizes.by_height.split(row));
    y = static_cast<int>(row);
    x = static_cast<int>(column);
  }
};

// A block's pixels are neighbours: their windows lie within some whole lines of the images, which follow each other.
struct PatchLines {
  int first, count;

  __device__ PatchLines(const PatchSizes& sizes, int begin, int end) {
    const PatchPixel from(sizes, begin), to(sizes, end - 1);
    const PatchAxis& down = sizes.down;
    first = from.image * down.inputs + down.nearest(down.first(from.y));
    count = to.image * down.inputs + down.nearest(down.first(to.y) + down.reach() - 1) - first + 1;
  }
};

// What a block has of them, and how weights lie in shared memory: as rows, or transposed as columns.
template <int kDown, int kAcross, bool kTransposed>
struct PatchTile {
  static constexpr int kPixels = kDown * kSquareSide, kColumns = kAcross * kSquareSide;
  static constexpr int kWarps = kDown * kAcross, kThreads = kWarps * kSquareShares * kWarp;
  static constexpr int kLine = kTransposed ? kTurnRows + kLineGap : kColumns + kWideLineGap;
  static constexpr int kStage = (kTransposed ? kColumns : kTurnRows) * kLine;
  static constexpr int kVectors = kTurnRows * kColumns / kPatchVector;
  static constexpr int kFetched = (kVectors + kThreads - 1) / kThreads;  // by a thread
  static constexpr int kSquareSums = kSquareSide * kSquareSide;
};

__device__ inline float4 tensor_floats(const float4& four) {
  return make_float4(__uint_as_float(tensor_float(four.x)), __uint_as_float(tensor_float(four.y)),
                     __uint_as_float(tensor_float(four.z)), __uint_as_float(tensor_float(four.w)));
}

// Vectors of a turn's weights, which a thread holds until there is room for them. Transposed ones are the weights of a
// convolution whose taps and channels are exchanged: (taps from last to first, columns, depth).
template <class Tile, bool kTransposed>
struct PatchWeights {
  float4 vectors[Tile::kFetched];

  __device__ void fetch(const PatchSizes& sizes, const float* __restrict__ weights, int first_row, int first_column) {
#pragma unroll
    for (int i = 0; i < Tile::kFetched; ++i) {
      const int at = static_cast<int>(threadIdx.x) + i * Tile::kThreads;
      int row, column;
      find(at, row, column);
      row += first_row;
      column += first_column;
      vectors[i] = make_float4(0, 0, 0, 0);
      if (at >= Tile::kVectors || row >= sizes.rows || column >= sizes.columns) continue;
      int from = row * sizes.columns + column;
      if constexpr (kTransposed) {
        std::int64_t channel = row;
        const int tap = static_cast<int>(sizes.by_depth.split(channel));
        const int turned = sizes.down.taps * sizes.across.taps - 1 - tap;
        from = (turned * sizes.columns + column) * sizes.depth + static_cast<int>(channel);
      }
      vectors[i] = *reinterpret_cast<const float4*>(weights + from);
    }
  }
  __device__ void put(float* stage) const {
#pragma unroll
    for (int i = 0; i < Tile::kFetched; ++i) {
      const int at = static_cast<int>(threadIdx.x) + i * Tile::kThreads;
      int row, column;
      find(at, row, column);
      float* to = stage + (kTransposed ? column * Tile::kLine + row : row * Tile::kLine + column);
      if (at < Tile::kVectors) *reinterpret_cast<float4*>(to) = tensor_floats(vectors[i]);
    }
  }

 private:
  __device__ static void find(int at, int& row, int& column) {
    if constexpr (kTransposed) {
      constexpr int kAlong = kTurnRows / kPatchVector;
      row = at % kAlong * kPatchVector;
      column = at / kAlong;
    } else {
      constexpr int kAlong = Tile::kColumns / kPatchVector;
      row = at / kAlong;
      column = at % kAlong * kPatchVector;
    }
  }
};

// Lines of images, rounded, behind a pixel of zeros that stands for those outside of an image.
template <int kThreads>
__device__ inline void load_lines(const PatchSizes& sizes, const PatchLines& lines, const float* __restrict__ source,
                                  float* patch) {
  const int thread = static_cast<int>(threadIdx.x), width = sizes.across.inputs;
  const float* from = source + static_cast<std::int64_t>(lines.first) * width * sizes.depth;
  const int vectors = lines.count * width * (sizes.depth / kPatchVector);
#pragma unroll 4
  for (int i = thread; i < vectors; i += kThreads) {
    std::int64_t rest = i;
    const int pixel = static_cast<int>(sizes.by_vectors.split(rest));
    *reinterpret_cast<float4*>(patch + (pixel + 1) * sizes.line() + static_cast<int>(rest) * kPatchVector) =
        tensor_floats(reinterpret_cast<const float4*>(from)[i]);
  }
  for (int i = thread; i < sizes.depth; i += kThreads) patch[i] = 0;
}

// The windows of a lane's pixels, and where they are read for the tap at hand.
struct PatchWindows {
  static constexpr int kCount = kSquareSide / 16;
  int first[kCount], y[kCount], x[kCount];  // where they begin among the patch's pixels and in the image
  int at[kCount];                           // in the patch
  int tap_y = 0, tap_x = 0, tap_first = 0;  // the tap, and its first row of the weights

  __device__ PatchWindows(const PatchSizes& sizes, const PatchLines& lines, int first_pixel) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const int pixel = first_pixel + i * 16 + static_cast<int>(threadIdx.x) % 16;
      const PatchPixel place(sizes, min(pixel, sizes.pixels - 1));
      y[i] = sizes.down.first(place.y);
      x[i] = sizes.across.first(place.x);
      first[i] = (place.image * sizes.down.inputs + y[i] - lines.first) * sizes.across.inputs + x[i] + 1;
      // No tap of a pixel that does not exist is inside.
      if (pixel >= sizes.pixels) y[i] = -sizes.down.reach();
    }
    find_tap(sizes);
  }
  // Goes on to the tap that has a row.
  __device__ void go_to(const PatchSizes& sizes, int row) {
    if (row - tap_first < sizes.depth) return;
    while (row - tap_first >= sizes.depth) {
      tap_first += sizes.depth;
      if (++tap_x == sizes.across.taps) {
        tap_x = 0;
        ++tap_y;
      }
    }
    find_tap(sizes);
  }

 private:
  __device__ void find_tap(const PatchSizes& sizes) {
    const int down = tap_y * sizes.down.dilation, across = tap_x * sizes.across.dilation;
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const bool inside = sizes.down.has(y[i] + down) && sizes.across.has(x[i] + across);
      at[i] = inside ? (first[i] + down * sizes.across.inputs + across) * sizes.line() : 0;
    }
  }
};

// The warp's products of one step: rows of the weights from `step` on in the stage, `row` in all.
template <class Tile, bool kTransposed>
__device__ inline void multiply_step(const float* patch, const PatchWindows& windows, const float* stage, int column,
                                     int step, int row, SumFragment (&sums)[2][4]) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  LeftFragment left[2];
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    load_squares(patch + windows.at[i] + row - windows.tap_first + lane / 16 * 4, left[i].squares);
  }
#pragma unroll
  for (int pair = 0; pair < 2; ++pair) {
    std::uint32_t right[4];  // top and bottom of eight columns, and of the next eight
    if constexpr (kTransposed) {
      const int line = column + pair * 16 + lane / 16 * 8 + lane % 8;
      load_squares(stage + line * Tile::kLine + step + lane / 8 % 2 * 4, right);
    } else {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int line = step + lane % 4 + i % 2 * 4, at = column + pair * 16 + i / 2 * 8 + lane / 4;
        right[i] = __float_as_uint(stage[line * Tile::kLine + at]);
      }
    }
#pragma unroll
    for (int j = 0; j < 2; ++j) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        multiply_tensor_floats(sums[i][pair * 2 + j], left[i], right[j * 2], right[j * 2 + 1]);
      }
    }
  }
}

// What follows the sum of a pixel and column.
struct PatchFinish {
  const float* bias;  // null for none
  RowFinish::Activation activation;

  __device__ float operator()(float sum, int column) const {
    return activated(bias ? fn::Add{}(sum, bias[column]) : sum, activation);
  }
};

// The first of the warps that share a square adds up what all have; true for it.
template <class Tile>
__device__ inline bool join_shares(float* shared, int warp, SumFragment (&sums)[2][4]) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp, share = warp / Tile::kWarps;
  float* mine = shared + warp % Tile::kWarps * Tile::kSquareSums + lane;
  static_assert(kSquareShares == 2);
  __syncthreads();  // what lies there is still read
#pragma unroll
  for (int i = 0; i < 32 && share > 0; ++i) mine[i * kWarp] = sums[i / 16][i / 4 % 4].values[i % 4];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 32 && share == 0; ++i) sums[i / 16][i / 4 % 4].values[i % 4] += mine[i * kWarp];
  return share == 0;
}

template <int kDown, int kAcross, bool kTransposed>
__global__ void __launch_bounds__(kDown* kAcross* kSquareShares* kWarp)
    multiply_patches(const __grid_constant__ PatchSizes sizes, const float* __restrict__ source,
                     const float* __restrict__ weights, float* __restrict__ to, PatchFinish finish) {
  using Tile = PatchTile<kDown, kAcross, kTransposed>;
  extern __shared__ float4 patch_memory[];
  auto* shared = reinterpret_cast<float*>(patch_memory);
  float* patch = shared + 2 * Tile::kStage;
  const int warp = static_cast<int>(threadIdx.x) / kWarp, lane = static_cast<int>(threadIdx.x) % kWarp;
  const int first_pixel = static_cast<int>(blockIdx.x) * Tile::kPixels;
  const int first_column = static_cast<int>(blockIdx.y) * Tile::kColumns;
  const int row = warp % Tile::kWarps / kAcross * kSquareSide, column = warp % kAcross * kSquareSide;

  // Weights are fetched two turns before they are needed.
  PatchWeights<Tile, kTransposed> next, later;
  next.fetch(sizes, weights, 0, first_column);
  later.fetch(sizes, weights, kTurnRows, first_column);
  const PatchLines lines(sizes, first_pixel, min(first_pixel + Tile::kPixels, sizes.pixels));
  load_lines<Tile::kThreads>(sizes, lines, source, patch);
  PatchWindows windows(sizes, lines, first_pixel + row);
  next.put(shared);

  SumFragment sums[2][4] = {};
  for (int turn = 0; turn * kTurnRows < sizes.rows; ++turn) {
    __syncthreads();  // all have put this turn's weights, and read those in whose place the next ones come
    later.put(shared + (turn + 1) % 2 * Tile::kStage);
    later.fetch(sizes, weights, (turn + 2) * kTurnRows, first_column);
    const float* stage = shared + turn % 2 * Tile::kStage;
#pragma unroll
    for (int i = 0; i < kTurnRows / kStepRows / kSquareShares; ++i) {
      const int step = (i * kSquareShares + warp / Tile::kWarps) * kStepRows, at = turn * kTurnRows + step;
      if (at >= sizes.rows) break;
      windows.go_to(sizes, at);
      multiply_step<Tile, kTransposed>(patch, windows, stage, column, step, at, sums);
    }
  }

  if (!join_shares<Tile>(shared, warp, sums)) return;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int pixel = first_pixel + row + i * 16 + half * 8 + lane / 4;
      if (pixel >= sizes.pixels) continue;
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const int at = first_column + column + j * 8 + lane % 4 * 2;
        if (at >= sizes.columns) continue;
        const float* two = sums[i][j].values + half * 2;
        *reinterpret_cast<float2*>(to + static_cast<std::int64_t>(pixel) * sizes.columns + at) =
            make_float2(finish(two[0], at), finish(two[1], at + 1));
      }
    }
  }
}

using PatchKernel = void (*)(PatchSizes, const float*, const float*, float*, PatchFinish);

// A kernel and what one of its blocks has.
struct PatchChoice {
  PatchKernel kernel;
  int pixels, columns, threads, stages, squares;  // the last two in numbers of shared memory

  template <int kDown, int kAcross, bool kTransposed>
  static PatchChoice of() {
    using Tile = PatchTile<kDown, kAcross, kTransposed>;
    return {multiply_patches<kDown, kAcross, kTransposed>,
            Tile::kPixels,
            Tile::kColumns,
            Tile::kThreads,
            2 * Tile::kStage,
            Tile::kWarps * Tile::kSquareSums};
  }
  std::int64_t blocks_down(const PatchSizes& sizes) const { return (sizes.pixels + pixels - 1) / pixels; }
  std::int64_t blocks_across(const PatchSizes& sizes) const { return (sizes.columns + columns - 1) / columns; }
  // Pixels after which a large GPU, each of whose parts has a block at a time, is through.
  std::int64_t turns(const PatchSizes& sizes) const {
    constexpr std::int64_t kAtOnce = 132;
    return (blocks_down(sizes) * blocks_across(sizes) + kAtOnce - 1) / kAtOnce * pixels;
  }
  // Of shared memory.
  std::size_t bytes(const PatchSizes& sizes, std::int64_t images, const ConvWindow& down, int width) const {
    // The last pixel of a block may be this many lines of what comes out, and images, behind its first one.
    const std::int64_t lines = (pixels - 1 + width - 1) / width, ends = (lines + down.outputs - 1) / down.outputs;
    const std::int64_t between = std::max<std::int64_t>(0, down.inputs - down.outputs * down.stride);
    const std::int64_t most = std::min(images * down.inputs, lines * down.stride + ends * between + sizes.down.reach());
    const std::int64_t patch = (most * sizes.across.inputs + 1) * sizes.line();
    return static_cast<std::size_t>(std::max<std::int64_t>(stages + patch, squares)) * sizeof(float);
  }
};

// Large blocks read weights less often: they are taken where small ones are through no sooner.
template <bool kTransposed>
PatchChoice choose_patches(const PatchSizes& sizes) {
  const bool narrow = sizes.columns <= kSquareSide;
  const auto large = narrow ? PatchChoice::of<6, 1, kTransposed>() : PatchChoice::of<4, 2, kTransposed>();
  const auto small = narrow ? PatchChoice::of<2, 1, kTransposed>() : PatchChoice::of<2, 2, kTransposed>();
  return small.turns(sizes) < large.turns(sizes) ? small : large;
}

// Whether windows begin before the image ends and end behind its beginning, as PatchLines takes it.
bool overlaps(const ConvWindow& axis) {
  return axis.before >= 0 && axis.before <= (axis.taps - 1) * axis.dilation &&
         (axis.outputs - 1) * axis.stride - axis.before < axis.inputs;
}

KernelFn multiply_by_patches(const KernelSpec& spec, std::int64_t images, std::int64_t depth, std::int64_t columns,
                             const ConvWindow& down, const ConvWindow& across, bool transposed,
                             const RowFinish& finish) {
  constexpr std::size_t kMostBytes = 112 << 10;  // of shared memory, so that two blocks have room
  if (depth % kStepRows != 0 || !overlaps(down) || !overlaps(across)) return {};
  const std::int64_t pixels = images * down.outputs * across.outputs;
  PatchSizes sizes{static_cast<int>(depth),
                   static_cast<int>(columns),
                   static_cast<int>(down.taps * across.taps * depth),
                   PatchAxis(down),
                   PatchAxis(across),
                   static_cast<int>(pixels),
                   BoundedDivider(across.outputs, pixels),
                   BoundedDivider(down.outputs, pixels),
                   BoundedDivider(depth, down.taps * across.taps * depth),
                   BoundedDivider(depth / kPatchVector, kMostBytes)};
  const PatchChoice choice = transposed ? choose_patches<true>(sizes) : choose_patches<false>(sizes);
  const std::size_t bytes = choice.bytes(sizes, images, down, static_cast<int>(across.outputs));
  constexpr std::int64_t kMostAcross = 0xffff;
  if (bytes > kMostBytes || choice.blocks_across(sizes) > kMostAcross) return {};
  cohort::cuda::device_of(spec).make_current();
  cohort::cuda::check(cudaFuncSetAttribute(reinterpret_cast<const void*>(choice.kernel),
                                           cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(kMostBytes)));
  const dim3 blocks(static_cast<unsigned int>(choice.blocks_down(sizes)),
                    static_cast<unsigned int>(choice.blocks_across(sizes)));
  return [=, has_bias = finish.has_bias(), activation = finish.activation()](const KernelIO& io) {
    const PatchFinish after{has_bias ? io.in<float>(2) : nullptr, activation};
    choice.kernel<<<blocks, choice.threads, bytes, stream_of(io)>>>(sizes, io.in<float>(0), io.in<float>(1),
                                                                    io.out<float>(0), after);
    cohort::cuda::check(cudaGetLastError());
  };
}

}  // namespace

KernelFn tensor_float_conv(const KernelSpec& spec, const ConvSizes& sizes, const RowFinish& finish) {
  if (!suits_tensor_float(sizes, spec.output(0).dtype)) return {};
  return multiply_by_patches(spec, sizes.batch, sizes.channels, sizes.filters, sizes.axes[1], sizes.axes[2], false,
                             finish);
}

KernelFn tensor_float_input_gradient(const KernelSpec& spec, const ConvSizes& sizes) {
  if (!suits_tensor_float(sizes, spec.output(0).dtype)) return {};
  // What flows back to a pixel comes through the taps in the opposite order.
  const auto opposite = [](const ConvWindow& axis) {
    return ConvWindow{axis.outputs,  axis.taps,   1,
                      axis.dilation, axis.inputs, (axis.taps - 1) * axis.dilation - axis.before};
  };
  if (sizes.axes[1].stride != 1 || sizes.axes[2].stride != 1) return {};
  return multiply_by_patches(spec, sizes.batch, sizes.filters, sizes.channels, opposite(sizes.axes[1]),
                             opposite(sizes.axes[2]), true, RowFinish(DType::Float32, "", false, false));
}

}  // namespace cohort::kernels::cuda
