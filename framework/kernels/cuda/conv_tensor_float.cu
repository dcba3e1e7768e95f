#include "cohort/kernels/cuda/conv_tensor_float.h"

#include <algorithm>

#include "cohort/core/tensor_float_32.h"
#include "cohort/kernels/cuda/conv_parts.h"
#include "cohort/kernels/cuda/groups.h"
#include "cohort/kernels/cuda/index_math.h"
#include "cohort/kernels/cuda/launch.h"
#include "cohort/kernels/cuda/tensor_core.h"

namespace cohort::kernels::cuda {
namespace {

// Of a block: rows of the kernel (taps and channels), six warps as 3 x 2 on them and the filters.
constexpr int kStageRows = 96, kWindowWarpsDown = 3, kWindowWarpsAcross = 2;
constexpr int kWindowThreads = kWindowWarpsDown * kWindowWarpsAcross * kWarp;
// Pixels that are brought into shared memory at a time, into one of so many places, and that a block has at most.
constexpr int kStageDepth = 16, kWindowStages = 3, kMostWindows = 1024;
// Elements of one access, and by how many a line in shared memory is longer, so that a warp meets no bank twice.
constexpr int kStageVector = 4, kStageGap = 8;
constexpr std::int64_t kFewestWindows = 128;
// Blocks that fill a large GPU twice; a number of its own, since results must not depend on the machine.
constexpr std::int64_t kWindowBlocks = 264;

// Sizes as the kernel gets them.
struct WindowSizes {
  int channels, filters, rows;
  ConvWindow down, across;
  int pixels, part_pixels;
  BoundedDivider by_width, by_height;
};

// The window of an output pixel: the image's pixel at which it begins, which may be in the padding, and where that is.
struct WindowPlace {
  int first;
  short y, x;
};

template <int kColumns>
struct WindowStage {
  float left[kStageDepth][kStageRows + kStageGap];
  float right[kStageDepth][kColumns + kStageGap];
};

__device__ inline void find_windows(const WindowSizes& sizes, int begin, int count, WindowPlace* places) {
  for (int i = static_cast<int>(threadIdx.x); i < count; i += kWindowThreads) {
    std::int64_t column = begin + i;
    std::int64_t line = sizes.by_width.split(column);
    const std::int64_t image = sizes.by_height.split(line);
    const auto y = static_cast<int>(line * sizes.down.stride - sizes.down.before);
    const auto x = static_cast<int>(column * sizes.across.stride - sizes.across.before);
    const int height = static_cast<int>(sizes.down.inputs), width = static_cast<int>(sizes.across.inputs);
    places[i] = {(static_cast<int>(image) * height + y) * width + x, static_cast<short>(y), static_cast<short>(x)};
  }
}

// Four neighbouring channels of one tap: where they lie for a window, the same for all pixels that a thread copies.
struct RowPlace {
  int y, x, channel;
  bool exists;

  __device__ RowPlace(const WindowSizes& sizes, int row) : exists(row < sizes.rows) {
    const int tap = row / sizes.channels, taps_across = static_cast<int>(sizes.across.taps);
    y = tap / taps_across * static_cast<int>(sizes.down.dilation);
    x = tap % taps_across * static_cast<int>(sizes.across.dilation);
    channel = row % sizes.channels;
  }
};

// Begins to copy `kStageDepth` pixels from number `first` of the block's `count`; zeros behind the last.
template <int kColumns>
__device__ inline void begin_stage(const WindowSizes& sizes, const WindowPlace* places, const RowPlace& row,
                                   const float* x, const float* flows, int filters_left, int first, int count,
                                   WindowStage<kColumns>& stage) {
  constexpr int kAlong = kStageRows / kStageVector, kAtOnce = kWindowThreads / kAlong;
  static_assert(kWindowThreads % kAlong == 0 && kStageDepth % kAtOnce == 0);
  const int thread = static_cast<int>(threadIdx.x), height = static_cast<int>(sizes.down.inputs);
  const int width = static_cast<int>(sizes.across.inputs);
#pragma unroll
  for (int turn = 0; turn < kStageDepth / kAtOnce; ++turn) {
    const int pixel = thread / kAlong + turn * kAtOnce, at = first + pixel;
    const WindowPlace place = places[min(at, count - 1)];
    const int at_y = place.y + row.y, at_x = place.x + row.x;
    const bool inside = row.exists && at < count && at_y >= 0 && at_y < height && at_x >= 0 && at_x < width;
    const std::int64_t from = inside ? place.first + row.y * width + row.x : 0;
    begin_cached_copy(&stage.left[pixel][thread % kAlong * kStageVector],
                      x + from * sizes.channels + row.channel * inside, inside);
  }
  constexpr int kAcross = kColumns / kStageVector;
  for (int i = thread; i < kStageDepth * kAcross; i += kWindowThreads) {
    const int pixel = i / kAcross, column = i % kAcross * kStageVector, at = first + pixel;
    const bool exists = at < count && column < filters_left;
    const std::int64_t from = exists ? static_cast<std::int64_t>(at) * sizes.filters + column : 0;
    begin_copy(&stage.right[pixel][column], flows + from, exists);
  }
}

// The warp's sums over the pixels of a stage.
template <int kColumns, int kDown, int kAcross>
__device__ inline void multiply_stage(const WindowStage<kColumns>& stage, int row, int column,
                                      SumFragment (&sums)[kDown][kAcross]) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp, line = lane / 4, depth = lane % 4;
#pragma unroll
  for (int first = 0; first < kStageDepth; first += 8) {
    LeftFragment left[kDown];
#pragma unroll
    for (int i = 0; i < kDown; ++i) {
      const int at = row + i * 16 + line;
      left[i].squares[0] = tensor_float(stage.left[first + depth][at]);
      left[i].squares[1] = tensor_float(stage.left[first + depth][at + 8]);
      left[i].squares[2] = tensor_float(stage.left[first + depth + 4][at]);
      left[i].squares[3] = tensor_float(stage.left[first + depth + 4][at + 8]);
    }
#pragma unroll
    for (int j = 0; j < kAcross; ++j) {
      const int at = column + j * 8 + line;
      const std::uint32_t top = tensor_float(stage.right[first + depth][at]);
      const std::uint32_t bottom = tensor_float(stage.right[first + depth + 4][at]);
#pragma unroll
      for (int i = 0; i < kDown; ++i) multiply_tensor_floats(sums[i][j], left[i], top, bottom);
    }
  }
}

// A thread copies the same four columns of dy for all of its pixels, and adds them up when they are there.
template <int kColumns>
struct WindowFlowSums {
  static constexpr int kAcross = kColumns / kStageVector, kShares = kWindowThreads / kAcross;
  static_assert(kWindowThreads % kAcross == 0);
  float values[kStageVector] = {};

  __device__ void add(const WindowStage<kColumns>& stage) {
    const int first = static_cast<int>(threadIdx.x) / kAcross, column = static_cast<int>(threadIdx.x) % kAcross;
    for (int pixel = first; pixel < kStageDepth; pixel += kShares) {
#pragma unroll
      for (int i = 0; i < kStageVector; ++i) values[i] += stage.right[pixel][column * kStageVector + i];
    }
  }
  // Adds up what the threads of a block have.
  __device__ void write(float (*shared)[kColumns], int filters, float* __restrict__ to) const {
    const int thread = static_cast<int>(threadIdx.x), column = thread % kAcross * kStageVector;
#pragma unroll
    for (int i = 0; i < kStageVector; ++i) shared[thread / kAcross][column + i] = values[i];
    __syncthreads();
    if (thread >= kColumns || thread >= filters) return;
    float sum = 0;
#pragma unroll
    for (int share = 0; share < kShares; ++share) sum += shared[share][thread];
    to[thread] = sum;
  }
};

// Where a block's results go, those of part 0: the kernel's gradient, and where it is wanted the sums of dy's columns;
// and how far the parts lie from each other.
struct WindowTarget {
  float* kernel;
  float* sums;  // null for none
  std::int64_t part;
};

// A block has kStageRows rows, kColumns filters and, by blockIdx.z, a part of the pixels.
template <int kColumns>
__global__ void __launch_bounds__(kWindowThreads)
    multiply_windows(const __grid_constant__ WindowSizes sizes, const float* __restrict__ x,
                     const float* __restrict__ dy, WindowTarget to) {
  constexpr int kDown = kStageRows / kWindowWarpsDown / 16, kAcross = kColumns / kWindowWarpsAcross / 8;
  __shared__ alignas(16) WindowStage<kColumns> stages[kWindowStages];
  __shared__ WindowPlace places[kMostWindows];
  const int thread = static_cast<int>(threadIdx.x), warp = thread / kWarp, lane = thread % kWarp;
  const int first_row = static_cast<int>(blockIdx.x) * kStageRows,
            first_filter = static_cast<int>(blockIdx.y) * kColumns;
  const int begin = static_cast<int>(blockIdx.z) * sizes.part_pixels;
  const int count = min(sizes.part_pixels, sizes.pixels - begin);
  find_windows(sizes, begin, count, places);
  __syncthreads();

  const RowPlace copied(sizes, first_row + thread % (kStageRows / kStageVector) * kStageVector);
  const float* flows = dy + static_cast<std::int64_t>(begin) * sizes.filters + first_filter;
  const int turns = (count + kStageDepth - 1) / kStageDepth;
  const auto begin_turn = [&](int turn) {
    if (turn < turns) {
      begin_stage(sizes, places, copied, x, flows, sizes.filters - first_filter, turn * kStageDepth, count,
                  stages[turn % kWindowStages]);
    }
    end_group_of_copies();
  };
#pragma unroll
  for (int turn = 0; turn < kWindowStages - 1; ++turn) begin_turn(turn);

  const int row = warp / kWindowWarpsAcross * (kDown * 16), column = warp % kWindowWarpsAcross * (kAcross * 8);
  const bool adds = to.sums && blockIdx.x == 0;
  WindowFlowSums<kColumns> flow_sums;
  SumFragment sums[kDown][kAcross] = {};
  for (int turn = 0; turn < turns; ++turn) {
    wait_for_copies<kWindowStages - 2>();
    if (adds) flow_sums.add(stages[turn % kWindowStages]);
    __syncthreads();  // all have copied this stage, and read the one that is written next
    begin_turn(turn + kWindowStages - 1);
    multiply_stage(stages[turn % kWindowStages], row, column, sums);
  }

  float* part = to.kernel + static_cast<std::int64_t>(blockIdx.z) * to.part;
#pragma unroll
  for (int i = 0; i < kDown; ++i) {
#pragma unroll
    for (int j = 0; j < kAcross; ++j) {
      const int filter = first_filter + column + j * 8 + lane % 4 * 2;
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int at = first_row + row + i * 16 + half * 8 + lane / 4;
        if (at >= sizes.rows || filter >= sizes.filters) continue;
        *reinterpret_cast<float2*>(part + static_cast<std::int64_t>(at) * sizes.filters + filter) =
            make_float2(sums[i][j].values[half * 2], sums[i][j].values[half * 2 + 1]);
      }
    }
  }
  if (adds) {
    __shared__ float shared[WindowFlowSums<kColumns>::kShares][kColumns];
    flow_sums.write(shared, sizes.filters - first_filter,
                    to.sums + static_cast<std::int64_t>(blockIdx.z) * to.part + first_filter);
  }
}

int whole_stages(std::int64_t pixels) {
  return static_cast<int>((pixels + kStageDepth - 1) / kStageDepth) * kStageDepth;
}

}  // namespace

bool suits_tensor_float(const ConvSizes& sizes, DType dtype) {
  constexpr std::int64_t kMostWork = std::int64_t{1} << 31, kLargest = std::int64_t{1} << 30, kLongest = 1 << 14;
  const ConvWindow &depth = sizes.axes[0], &down = sizes.axes[1], &across = sizes.axes[2];
  const bool flat = depth.inputs == 1 && depth.taps == 1 && depth.outputs == 1;
  if (dtype != DType::Float32 || !tensor_float_32_execution_enabled() || !flat || sizes.groups != 1) return false;
  if (sizes.channels % kStageVector != 0 || sizes.filters % kStageVector != 0) return false;
  if (sizes.inputs() * sizes.channels == 0 || sizes.outputs() * sizes.filters == 0 || sizes.kernel_size() == 0) {
    return false;
  }
  for (const ConvWindow* axis : {&down, &across}) {
    if (axis->inputs > kLongest || axis->taps * axis->dilation > kLongest || axis->outputs * axis->stride > kLongest) {
      return false;
    }
  }
  return sizes.inputs() * sizes.channels <= kLargest && sizes.outputs() * sizes.filters <= kLargest &&
         sizes.kernel_size() <= kMostWork / sizes.outputs();
}

KernelFn tensor_float_kernel_gradient(const KernelSpec& spec, const ConvSizes& sizes, bool has_sums) {
  if (!suits_tensor_float(sizes, spec.output(0).dtype)) return {};
  auto* device = &cohort::cuda::device_of(spec);
  const std::int64_t pixels = sizes.outputs(), elements = sizes.kernel_size();
  WindowSizes windows{};
  windows.channels = static_cast<int>(sizes.channels);
  windows.filters = static_cast<int>(sizes.filters);
  windows.rows = static_cast<int>(sizes.taps() * sizes.channels);
  windows.down = sizes.axes[1];
  windows.across = sizes.axes[2];
  windows.pixels = static_cast<int>(pixels);
  windows.by_width = BoundedDivider(windows.across.outputs, pixels);
  windows.by_height = BoundedDivider(windows.down.outputs, pixels);

  const bool narrow = windows.filters <= 32;
  const int columns = narrow ? 32 : 64;
  const unsigned int tiles_down = (windows.rows + kStageRows - 1) / kStageRows;
  const unsigned int tiles_across = (windows.filters + columns - 1) / columns;
  const std::int64_t wanted = std::max<std::int64_t>(1, kWindowBlocks / (std::int64_t{tiles_down} * tiles_across));
  const std::int64_t part = std::max(kFewestWindows, (pixels + wanted - 1) / wanted);
  windows.part_pixels = std::min(kMostWindows, whole_stages(part));
  const std::int64_t parts = (pixels + windows.part_pixels - 1) / windows.part_pixels;
  constexpr std::int64_t kMostTiles = 0xffff;  // along the second and third axis of a grid
  if (tiles_across > kMostTiles || parts > kMostTiles) return {};
  const std::int64_t part_elements = elements + (has_sums ? sizes.filters : 0);
  if (parts > 1) device->reserve_workspace(static_cast<std::size_t>(parts * part_elements) * sizeof(float));
  return [=](const KernelIO& io) {
    const PartsTarget<float> target{io.out<float>(0), elements, has_sums ? io.out<float>(1) : nullptr,
                                    part_elements - elements};
    WindowTarget to{target.first, target.second, part_elements};
    if (parts > 1) {
      to.kernel = static_cast<float*>(device->workspace());
      to.sums = has_sums ? to.kernel + elements : nullptr;
    }
    const dim3 blocks(tiles_down, tiles_across, static_cast<unsigned int>(parts));
    const auto kernel = narrow ? multiply_windows<32> : multiply_windows<64>;
    kernel<<<blocks, kWindowThreads, 0, stream_of(io)>>>(windows, io.in<float>(0), io.in<float>(1), to);
    cohort::cuda::check(cudaGetLastError());
    if (parts > 1) enqueue_sum_of_parts<float>(to.kernel, target, parts, stream_of(io));
  };
}

}  // namespace cohort::kernels::cuda
