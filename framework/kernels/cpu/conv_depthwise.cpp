#include "cohort/kernels/cpu/conv_depthwise.h"

#include <algorithm>

#include "cohort/core/scratch.h"
#include "cohort/core/thread_pool.h"
#include "cohort/kernels/cpu/softmax_rows.h"

namespace cohort {
namespace {

constexpr std::int64_t kTaskWork = 1 << 17;  // products that are worth one task
constexpr std::int64_t kChunks = 16;         // parts of a batch whose kernel gradients are summed apart

Scratch sum_memory, part_memory;

// sums[c * multiplier + m] += x[c] * other[c * multiplier + m]
template <class T, class C>
void add_products(const T* x, const T* other, std::int64_t channels, std::int64_t multiplier, C* sums) {
  if (multiplier == 1) {
    for (std::int64_t c = 0; c < channels; ++c) sums[c] += C(x[c]) * C(other[c]);
    return;
  }
  for (std::int64_t c = 0; c < channels; ++c, other += multiplier, sums += multiplier) {
    const C value = C(x[c]);
    for (std::int64_t m = 0; m < multiplier; ++m) sums[m] += value * C(other[m]);
  }
}

// sums[c] += sum over m of dy[c * multiplier + m] * kernel[c * multiplier + m]
template <class T, class C>
void add_summed_products(const T* dy, const T* kernel, std::int64_t channels, std::int64_t multiplier, C* sums) {
  if (multiplier == 1) return add_products(dy, kernel, channels, 1, sums);
  for (std::int64_t c = 0; c < channels; ++c, kernel += multiplier, dy += multiplier) {
    C sum = 0;
    for (std::int64_t m = 0; m < multiplier; ++m) sum += C(dy[m]) * C(kernel[m]);
    sums[c] += sum;
  }
}

}  // namespace

template <class T>
void DepthwiseConv<T>::forward(const ConvPlan& plan, const T* x, const T* kernel, const T* bias,
                               const Epilogue<T>& finish, T* y) {
  using C = ComputeType<T>;
  const std::int64_t channels = plan.channels, filters = plan.filters, multiplier = plan.group_filters();
  const std::int64_t grain = std::max<std::int64_t>(1, kTaskWork / std::max<std::int64_t>(1, plan.taps() * filters));
  parallel_for(plan.pixels(), grain, [&](std::int64_t begin, std::int64_t end) {
    C* sums = sum_memory.get<C>(filters);
    ConvPixel pixel(plan, begin);
    for (std::int64_t p = begin; p < end; ++p, pixel.next()) {
      std::fill_n(sums, filters, C(0));
      const T* image = x + pixel.image * plan.inputs() * channels;
      pixel.each_tap([&](std::int64_t tap, std::int64_t at) {
        if (at >= 0) add_products(image + at * channels, kernel + tap * filters, channels, multiplier, sums);
      });
      T* row = y + p * filters;
      for (std::int64_t f = 0; f < filters; ++f) row[f] = T(sums[f]);
      if (finish) finish(row, bias, filters);
    }
  });
}

template <class T>
void DepthwiseConv<T>::input_gradient(const ConvPlan& plan, const T* dy, const T* kernel, T* dx) {
  using C = ComputeType<T>;
  const std::int64_t channels = plan.channels, filters = plan.filters, multiplier = plan.group_filters();
  const std::int64_t size = plan.inputs() * channels;
  parallel_for(plan.batch, 1, [&](std::int64_t begin, std::int64_t end) {
    C* sums = sum_memory.get<C>(size);
    for (std::int64_t image = begin; image < end; ++image) {
      std::fill_n(sums, size, C(0));
      ConvPixel pixel(plan, image * plan.outputs());
      for (std::int64_t p = image * plan.outputs(); p < (image + 1) * plan.outputs(); ++p, pixel.next()) {
        pixel.each_tap([&](std::int64_t tap, std::int64_t at) {
          if (at < 0) return;
          add_summed_products(dy + p * filters, kernel + tap * filters, channels, multiplier, sums + at * channels);
        });
      }
      for (std::int64_t i = 0; i < size; ++i) dx[image * size + i] = T(sums[i]);
    }
  });
}

template <class T>
void DepthwiseConv<T>::kernel_gradient(const ConvPlan& plan, const T* x, const T* dy, T* dkernel) {
  using C = ComputeType<T>;
  const std::int64_t channels = plan.channels, filters = plan.filters, multiplier = plan.group_filters();
  const std::int64_t size = plan.taps() * filters, step = (plan.pixels() + kChunks - 1) / kChunks;
  C* parts = part_memory.get<C>(kChunks * size);
  parallel_for(kChunks, 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t chunk = first; chunk < last; ++chunk) {
      C* sums = parts + chunk * size;
      std::fill_n(sums, size, C(0));
      const std::int64_t begin = chunk * step, end = std::min(plan.pixels(), begin + step);
      if (begin >= end) continue;
      ConvPixel pixel(plan, begin);
      for (std::int64_t p = begin; p < end; ++p, pixel.next()) {
        const T* image = x + pixel.image * plan.inputs() * channels;
        pixel.each_tap([&](std::int64_t tap, std::int64_t at) {
          if (at < 0) return;
          add_products(image + at * channels, dy + p * filters, channels, multiplier, sums + tap * filters);
        });
      }
    }
  });
  for (std::int64_t i = 0; i < size; ++i) {
    C sum = 0;
    for (std::int64_t chunk = 0; chunk < kChunks; ++chunk) sum += parts[chunk * size + i];
    dkernel[i] = T(sum);
  }
}

template struct DepthwiseConv<float>;
template struct DepthwiseConv<double>;
template struct DepthwiseConv<Half>;
template struct DepthwiseConv<BFloat16>;

}  // namespace cohort
