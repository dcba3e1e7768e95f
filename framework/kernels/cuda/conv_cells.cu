#include "cohort/kernels/cuda/conv_cells.h"

#include "cohort/kernels/cuda/elementwise.h"
#include "cohort/kernels/cuda/index_math.h"
#include "cohort/kernels/cuda/launch.h"

namespace cohort::kernels::cuda {
namespace {

using HalfWord = std::uint16_t;
constexpr int kCellSide = 2, kCellPixels = kCellSide * kCellSide;
constexpr int kMostCellChannels = 4;  // of a pixel
constexpr int kWholeChannels = 8;     // numbers of channels are made a multiple of this

constexpr int wide_channels(int channels) {
  return (kCellPixels * channels + kWholeChannels - 1) / kWholeChannels * kWholeChannels;
}

// A thread has a cell: it reads the pixels that exist and writes all channels.
template <int kChannels>
void fill_cells(const ConvCells& sizes, const void* from, void* to, std::int64_t images,
                const cohort::cuda::CudaDevice& device, cudaStream_t stream) {
  using Whole = Pack<HalfWord, kWholeChannels>;
  constexpr int kPacks = wide_channels(kChannels) / kWholeChannels;
  const auto* pixels = static_cast<const HalfWord*>(from);
  auto* cells = static_cast<Whole*>(to);
  const std::int64_t n = images * sizes.cells(), height = sizes.down.inputs, width = sizes.across.inputs;
  const std::int64_t before_y = sizes.down.before, before_x = sizes.across.before;
  const BoundedDivider by_across(sizes.cells_across, n), by_down(sizes.cells_down, n);
  launch_each(n, device, stream, [=] __device__(std::int64_t i) {
    std::int64_t cell_x = i, cell_y = by_across.split(cell_x);
    const std::int64_t image = by_down.split(cell_y);
    const std::int64_t y = cell_y * kCellSide - before_y, x = cell_x * kCellSide - before_x;
    const HalfWord* corner = pixels + ((image * height + y) * width + x) * kChannels;
    Whole cell[kPacks] = {};
#pragma unroll
    for (int p = 0; p < kCellPixels; ++p) {
      const int a = p / kCellSide, b = p % kCellSide;
      if (y + a < 0 || y + a >= height || x + b < 0 || x + b >= width) continue;
#pragma unroll
      for (int c = 0; c < kChannels; ++c) {
        const int at = p * kChannels + c;
        cell[at / kWholeChannels].values[at % kWholeChannels] = corner[(a * width + b) * kChannels + c];
      }
    }
#pragma unroll
    for (int k = 0; k < kPacks; ++k) cells[i * kPacks + k] = cell[k];
  });
}

// Where an element of a kernel over cells comes from, in the kernel over pixels; -1: it is zero.
struct FilterPlaces {
  int channels, wide, filters, taps_y, taps_x, cell_taps_x;

  explicit FilterPlaces(const ConvCells& sizes)
      : channels(static_cast<int>(sizes.channels)),
        wide(static_cast<int>(sizes.wide)),
        filters(static_cast<int>(sizes.filters)),
        taps_y(static_cast<int>(sizes.down.taps)),
        taps_x(static_cast<int>(sizes.across.taps)),
        cell_taps_x(static_cast<int>(sizes.taps_across)) {}

  // `row` counts the taps over cells and their channels.
  __device__ std::int64_t in_pixels(int row, int filter) const {
    const int tap = row / wide, at = row - tap * wide, pixel = at / channels;
    const int y = tap / cell_taps_x * kCellSide + pixel / kCellSide;
    const int x = tap % cell_taps_x * kCellSide + pixel % kCellSide;
    if (pixel >= kCellPixels || y >= taps_y || x >= taps_x) return -1;
    return (static_cast<std::int64_t>(y * taps_x + x) * channels + at - pixel * channels) * filters + filter;
  }
  // The row of an element of the kernel over pixels, whose own row counts taps and channels.
  __device__ int row_in_cells(int row) const {
    const int tap = row / channels, y = tap / taps_x, x = tap % taps_x;
    const int pixel = y % kCellSide * kCellSide + x % kCellSide;
    return (y / kCellSide * cell_taps_x + x / kCellSide) * wide + pixel * channels + row - tap * channels;
  }
};

template <class T>
void sum_filters(const ConvCells& sizes, const void* from, void* to, std::int64_t parts, std::int64_t stride,
                 const cohort::cuda::CudaDevice& device, cudaStream_t stream) {
  const auto* source = static_cast<const T*>(from);
  auto* target = static_cast<T*>(to);
  const FilterPlaces places(sizes);
  const std::int64_t rows = sizes.taps_down * sizes.taps_across * sizes.wide;
  const std::int64_t n = sizes.down.taps * sizes.across.taps * sizes.channels * sizes.filters;
  const BoundedDivider by_filters(sizes.filters, n);
  launch_each(n, device, stream, [=] __device__(std::int64_t i) {
    std::int64_t filter = i;
    const auto row = static_cast<int>(by_filters.split(filter));
    const T* first = source + filter * rows + places.row_in_cells(row);
    float sum = 0;
    for (std::int64_t part = 0; part < parts; ++part) sum += widened(first[part * stride]);
    target[i] = narrowed<T>(sum);
  });
}

}  // namespace

bool ConvCells::suits(const ConvSizes& sizes) {
  constexpr std::int64_t kLongestAxis = 1 << 20, kMostTaps = 64;
  if (sizes.groups != 1 || sizes.channels > kMostCellChannels || sizes.filters % kWholeChannels != 0) return false;
  for (const ConvWindow* axis : {&sizes.axes[1], &sizes.axes[2]}) {
    const bool fits = axis->stride == kCellSide && axis->dilation == 1 && axis->taps > 1 && axis->taps <= kMostTaps &&
                      axis->inputs <= kLongestAxis && axis->outputs <= kLongestAxis;
    if (!fits) return false;
  }
  return true;
}

ConvCells::ConvCells(const ConvSizes& sizes)
    : channels(sizes.channels),
      wide(wide_channels(static_cast<int>(sizes.channels))),
      filters(sizes.filters),
      down(sizes.axes[1]),
      across(sizes.axes[2]),
      taps_down((down.taps + kCellSide - 1) / kCellSide),
      taps_across((across.taps + kCellSide - 1) / kCellSide) {
  // The first window begins with the first cell; the last one ends with the last cell.
  cells_down = down.outputs + taps_down - 1;
  cells_across = across.outputs + taps_across - 1;
}

ConvSizes ConvCells::over_cells(ConvSizes sizes, std::int64_t images) const {
  sizes.batch = images;
  sizes.channels = sizes.group_channels = wide;
  sizes.axes[1] = {cells_down, taps_down, 1, 1, down.outputs, 0};
  sizes.axes[2] = {cells_across, taps_across, 1, 1, across.outputs, 0};
  return sizes;
}

void ConvCells::enqueue_images(const void* from, void* to, std::int64_t images, const cohort::cuda::CudaDevice& device,
                               cudaStream_t stream) const {
  const auto fill = channels == 1   ? fill_cells<1>
                    : channels == 2 ? fill_cells<2>
                    : channels == 3 ? fill_cells<3>
                                    : fill_cells<4>;
  fill(*this, from, to, images, device, stream);
}

void ConvCells::enqueue_filters(const void* from, void* to, const cohort::cuda::CudaDevice& device,
                                cudaStream_t stream) const {
  const auto* source = static_cast<const HalfWord*>(from);
  auto* target = static_cast<HalfWord*>(to);
  const FilterPlaces places(*this);
  const std::int64_t rows = taps_down * taps_across * wide, n = filters * rows;
  const BoundedDivider by_rows(rows, n);
  launch_each(n, device, stream, [=] __device__(std::int64_t i) {
    std::int64_t row = i;
    const auto filter = static_cast<int>(by_rows.split(row));
    const std::int64_t place = places.in_pixels(static_cast<int>(row), filter);
    target[i] = place < 0 ? HalfWord{0} : source[place];
  });
}

void ConvCells::enqueue_sum_of_filters(const void* from, void* to, std::int64_t parts, std::int64_t stride, DType dtype,
                                       const cohort::cuda::CudaDevice& device, cudaStream_t stream) const {
  const auto sum = dtype == DType::BFloat16 ? sum_filters<__nv_bfloat16> : sum_filters<__half>;
  sum(*this, from, to, parts, stride, device, stream);
}

}  // namespace cohort::kernels::cuda
