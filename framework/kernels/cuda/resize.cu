#include <algorithm>

#include "cohort/kernels/cuda/device_table.h"
#include "cohort/kernels/cuda/elementwise.h"
#include "cohort/kernels/cuda/index_math.h"
#include "cohort/kernels/resize_weights.h"

namespace cohort::kernels::cuda {
namespace {

// What a sample of the target along an axis is made of, as a kernel reads it.
struct Taps {
  const std::int64_t* first;
  const ResizeTap* taps;
};

class TapTable {
 public:
  TapTable(cohort::cuda::CudaDevice& device, const ResizeWeights& weights)
      : first_(device, weights.first), taps_(device, weights.taps) {
    for (std::size_t i = 1; i < weights.first.size(); ++i) {
      most_ = std::max(most_, weights.first[i] - weights.first[i - 1]);
    }
  }
  Taps taps() const { return {first_.data(), taps_.data()}; }
  // The most taps of a sample.
  std::int64_t most() const { return most_; }

 private:
  DeviceTable<std::int64_t> first_;
  DeviceTable<ResizeTap> taps_;
  std::int64_t most_ = 0;
};

// The same weights seen from the other side: for each input the outputs that read it, in order.
ResizeWeights turned(const ResizeWeights& weights, std::int64_t inputs) {
  std::vector<std::vector<ResizeTap>> readers(static_cast<std::size_t>(inputs));
  for (std::size_t output = 0; output + 1 < weights.first.size(); ++output) {
    for (std::int64_t i = weights.first[output]; i < weights.first[output + 1]; ++i) {
      const ResizeTap& tap = weights.taps[static_cast<std::size_t>(i)];
      readers[static_cast<std::size_t>(tap.input)].push_back({static_cast<std::int64_t>(output), tap.weight});
    }
  }
  ResizeWeights result;
  for (const std::vector<ResizeTap>& each : readers) {
    result.taps.insert(result.taps.end(), each.begin(), each.end());
    result.first.push_back(static_cast<std::int64_t>(result.taps.size()));
  }
  return result;
}

// From images [batch, height, width, channels] to [batch, new_height, new_width, channels]: a resizing, or its gradient
// with the weights seen from the other side.
struct ResizeShape {
  ResizeShape(const Shape& from, const Shape& to)
      : height(from[1]),
        width(from[2]),
        new_height(to[1]),
        new_width(to[2]),
        channels(to[3]),
        elements(to.num_elements()),
        by_channels(channels, elements),
        by_width(new_width, elements),
        by_height(new_height, elements) {}

  struct Place {
    std::int64_t image, row, col, channel;
  };
  // Of the i-th group of `count` channels of the result.
  __device__ Place place(std::int64_t i, const BoundedDivider& by_groups, int count) const {
    Place place;
    place.channel = i;
    place.col = by_groups.split(place.channel);
    place.row = by_width.split(place.col);
    place.image = by_height.split(place.row);
    place.channel *= count;
    return place;
  }

  std::int64_t height, width, new_height, new_width, channels, elements;
  BoundedDivider by_channels, by_width, by_height;
};

// A pixel from the four inputs around it. The steps and their rounding are the CPU's.
template <class T, int kCount>
struct BetweenFour {
  ResizeShape shape;
  BoundedDivider by_groups;
  Taps down, across;
  const T* x;
  T* y;

  __device__ void operator()(std::int64_t i) const {
    using C = Compute<T>;
    using Values = Pack<T, kCount>;
    const ResizeShape::Place place = shape.place(i, by_groups, kCount);
    const ResizeTap above = down.taps[2 * place.row], below = down.taps[2 * place.row + 1];
    const ResizeTap left = across.taps[2 * place.col], right = across.taps[2 * place.col + 1];
    const auto load = [&](const ResizeTap& row, const ResizeTap& col) {
      const std::int64_t pixel = (place.image * shape.height + row.input) * shape.width + col.input;
      return *reinterpret_cast<const Values*>(x + pixel * shape.channels + place.channel);
    };
    const Values above_left = load(above, left), above_right = load(above, right);
    const Values below_left = load(below, left), below_right = load(below, right);
    const C share = static_cast<C>(right.weight), down_share = static_cast<C>(below.weight);
    Values result;
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      const C a = widened(above_left.values[k]), b = widened(below_left.values[k]);
      const C top = fma(widened(above_right.values[k]) - a, share, a);
      const C bottom = fma(widened(below_right.values[k]) - b, share, b);
      result.values[k] = narrowed<T>(fma(bottom - top, down_share, top));
    }
    reinterpret_cast<Values*>(y)[i] = result;
  }
};

// A pixel as the weighted sum of columns, each the weighted sum of its inputs.
template <class T, int kCount>
struct WeightedSum {
  ResizeShape shape;
  BoundedDivider by_groups;
  Taps down, across;
  const T* x;
  T* y;

  __device__ void operator()(std::int64_t i) const {
    using C = Compute<T>;
    const ResizeShape::Place place = shape.place(i, by_groups, kCount);
    C sum[kCount] = {};
    for (std::int64_t c = across.first[place.col]; c < across.first[place.col + 1]; ++c) {
      const ResizeTap col = across.taps[c];
      C column[kCount] = {};
      for (std::int64_t r = down.first[place.row]; r < down.first[place.row + 1]; ++r) {
        const ResizeTap row = down.taps[r];
        const std::int64_t pixel = (place.image * shape.height + row.input) * shape.width + col.input;
        const auto values = *reinterpret_cast<const Pack<T, kCount>*>(x + pixel * shape.channels + place.channel);
#pragma unroll
        for (int k = 0; k < kCount; ++k) column[k] += static_cast<C>(row.weight) * widened(values.values[k]);
      }
#pragma unroll
      for (int k = 0; k < kCount; ++k) sum[k] += static_cast<C>(col.weight) * column[k];
    }
    Pack<T, kCount> result;
#pragma unroll
    for (int k = 0; k < kCount; ++k) result.values[k] = narrowed<T>(sum[k]);
    reinterpret_cast<Pack<T, kCount>*>(y)[i] = result;
  }
};

// One axis of it alone: from [outer, size, inner] to [outer, new size, inner].
template <class From, class To>
struct WeightedAxis {
  std::int64_t size, inner;
  BoundedDivider by_inner, by_new_size;
  Taps taps;
  const From* x;
  To* y;

  __device__ void operator()(std::int64_t i) const {
    using C = Compute<From>;
    std::int64_t column = i;
    std::int64_t sample = by_inner.split(column);
    const std::int64_t outer = by_new_size.split(sample);
    C sum = 0;
    for (std::int64_t t = taps.first[sample]; t < taps.first[sample + 1]; ++t) {
      const ResizeTap tap = taps.taps[t];
      sum += static_cast<C>(tap.weight) * widened(x[(outer * size + tap.input) * inner + column]);
    }
    y[i] = narrowed<To>(sum);
  }
};

template <template <class, int> class Body, class T>
void launch_resize(const ResizeShape& shape, const Taps& down, const Taps& across,
                   const cohort::cuda::CudaDevice& device, const KernelIO& io) {
  constexpr int kCount = kPerAccess<T>;
  const auto* x = io.in<T>(0);
  auto* y = io.out<T>(0);
  if (shape.channels % kCount == 0 && both_aligned(kAccessBytes, x, y)) {
    const std::int64_t n = shape.elements / kCount;
    launch_each(n, device, stream_of(io),
                Body<T, kCount>{shape, BoundedDivider(shape.channels / kCount, n), down, across, x, y});
  } else {
    launch_each(shape.elements, device, stream_of(io), Body<T, 1>{shape, shape.by_channels, down, across, x, y});
  }
}

// Height and width one after the other, as many images at a time as the memory between the two can hold.
template <class T>
void launch_by_axes(const ResizeShape& shape, std::int64_t images_at_a_time, const Taps& down, const Taps& across,
                    const cohort::cuda::CudaDevice& device, const KernelIO& io) {
  using C = Compute<T>;
  const std::int64_t line = shape.width * shape.channels, image = shape.height * line;
  const std::int64_t between = shape.new_height * line;
  const std::int64_t new_image = shape.new_height * shape.new_width * shape.channels;
  auto* lines = static_cast<C*>(device.workspace());
  const std::int64_t batch = shape.elements / new_image;
  for (std::int64_t first = 0; first < batch; first += images_at_a_time) {
    const std::int64_t images = std::min(images_at_a_time, batch - first);
    const std::int64_t n = images * between, new_n = images * new_image;
    launch_each(n, device, stream_of(io),
                WeightedAxis<T, C>{shape.height, line, BoundedDivider(line, n), BoundedDivider(shape.new_height, n),
                                   down, io.in<T>(0) + first * image, lines});
    launch_each(
        new_n, device, stream_of(io),
        WeightedAxis<C, T>{shape.width, shape.channels, BoundedDivider(shape.channels, new_n),
                           BoundedDivider(shape.new_width, new_n), across, lines, io.out<T>(0) + first * new_image});
  }
}

KernelFn resize_with(const KernelSpec& spec, const ResizeWeights& rows, const ResizeWeights& cols) {
  constexpr std::int64_t kFewTaps = 32, kBetweenBytes = 32 << 20;
  cohort::cuda::CudaDevice& device = cohort::cuda::device_of(spec);
  const ResizeShape shape(spec.input(0).shape, spec.output(0).shape);
  if (shape.elements == 0) return [](const KernelIO&) {};
  const TapTable down(device, rows), across(device, cols);
  return visit_floating(spec.input(0).dtype, [&](auto type) -> KernelFn {
    using T = typename decltype(type)::type;
    if (down.most() * across.most() <= kFewTaps) {
      return [=, device = &device](const KernelIO& io) {
        launch_resize<WeightedSum, T>(shape, down.taps(), across.taps(), *device, io);
      };
    }
    const std::int64_t between =
        shape.new_height * shape.width * shape.channels * static_cast<std::int64_t>(sizeof(Compute<T>));
    const std::int64_t images = std::max<std::int64_t>(1, kBetweenBytes / between);
    device.reserve_workspace(static_cast<std::size_t>(images * between));
    return [=, device = &device](const KernelIO& io) {
      launch_by_axes<T>(shape, images, down.taps(), across.taps(), *device, io);
    };
  });
}

// The weights along height and width of a resizing from x to y.
ResizeWeights weights_of(const KernelSpec& spec, const Shape& x, const Shape& y, int axis) {
  return resize_weights(x[axis], y[axis], spec.attr<std::string>("interpolation"), spec.attr<bool>("antialias"));
}

KernelFn make_resize(const KernelSpec& spec) {
  const Shape &x = spec.input(0).shape, &y = spec.output(0).shape;
  const ResizeWeights rows = weights_of(spec, x, y, 1), cols = weights_of(spec, x, y, 2);
  // Every output lies between two inputs along each axis.
  const bool linear = spec.attr<std::string>("interpolation") == "bilinear" && !spec.attr<bool>("antialias");
  if (!linear) return resize_with(spec, rows, cols);
  cohort::cuda::CudaDevice& device = cohort::cuda::device_of(spec);
  const TapTable down(device, rows), across(device, cols);
  return visit_floating(spec.input(0).dtype, [&](auto type) -> KernelFn {
    using T = typename decltype(type)::type;
    return [=, device = &device, shape = ResizeShape(x, y)](const KernelIO& io) {
      launch_resize<BetweenFour, T>(shape, down.taps(), across.taps(), *device, io);
    };
  });
}

// (dy, like)
KernelFn make_resize_grad(const KernelSpec& spec) {
  const Shape &dx = spec.output(0).shape, &dy = spec.input(0).shape;
  return resize_with(spec, turned(weights_of(spec, dx, dy, 1), dx[1]), turned(weights_of(spec, dx, dy, 2), dx[2]));
}

COHORT_KERNEL("Resize", kGPU, make_resize);
COHORT_KERNEL("ResizeGrad", kGPU, make_resize_grad);

}  // namespace
}  // namespace cohort::kernels::cuda
