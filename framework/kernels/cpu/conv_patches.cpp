#include "cohort/kernels/cpu/conv_patches.h"

#include <algorithm>

#include "cohort/core/scratch.h"
#include "cohort/core/thread_pool.h"
#include "cohort/kernels/cpu/gemm.h"
#include "cohort/kernels/cpu/softmax_rows.h"

namespace cohort {
namespace {

constexpr std::int64_t kBlock = 64;  // outputs whose patches are laid out at once

Scratch patch_memory, product_memory, kernel_memory, sum_memory;

template <class T>
void multiply(const GemmShape& shape, const T* a, const T* b, T* c) {
  Gemm<T>(shape).run_here(a, b, c);
}

// `count` rows of `width` elements, `pitch` apart in `from`, next to each other in `to`.
template <class T>
void copy_rows(const T* from, std::int64_t pitch, std::int64_t count, std::int64_t width, T* to) {
  for (std::int64_t i = 0; i < count; ++i) std::copy_n(from + i * pitch, width, to + i * width);
}

// The kernels of all groups, each as a dense matrix (patch, filters of the group).
template <class T>
const T* dense_kernels(const ConvPlan& plan, const T* kernel) {
  if (plan.groups == 1) return kernel;
  const std::int64_t size = plan.patch() * plan.group_filters();
  T* dense = kernel_memory.get<T>(plan.groups * size);
  for (std::int64_t g = 0; g < plan.groups; ++g) {
    copy_rows(kernel + g * plan.group_filters(), plan.filters, plan.patch(), plan.group_filters(), dense + g * size);
  }
  return dense;
}

// A row for each output from `begin` on: what it reads of a group's channels.
template <class T>
void gather_patches(const ConvPlan& plan, const T* x, std::int64_t group, std::int64_t begin, std::int64_t count,
                    T* patches) {
  const std::int64_t width = plan.group_channels();
  ConvPixel pixel(plan, begin);
  for (std::int64_t i = 0; i < count; ++i, pixel.next()) {
    const T* image = x + pixel.image * plan.inputs() * plan.channels + group * width;
    pixel.each_tap([&](std::int64_t, std::int64_t at) {
      if (at < 0) {
        std::fill_n(patches, width, T(0));
      } else {
        std::copy_n(image + at * plan.channels, width, patches);
      }
      patches += width;
    });
  }
}

// The reverse: rows are added to the image they would have been read from.
template <class T, class Sum>
void add_patches(const ConvPlan& plan, const T* patches, std::int64_t group, std::int64_t begin, std::int64_t count,
                 Sum* image) {
  const std::int64_t width = plan.group_channels();
  ConvPixel pixel(plan, begin);
  for (std::int64_t i = 0; i < count; ++i, pixel.next()) {
    pixel.each_tap([&](std::int64_t, std::int64_t at) {
      if (at >= 0) {
        Sum* target = image + at * plan.channels + group * width;
        for (std::int64_t c = 0; c < width; ++c) target[c] += Sum(patches[c]);
      }
      patches += width;
    });
  }
}

}  // namespace

template <class T>
void PatchConv<T>::forward(const ConvPlan& plan, const T* x, const T* kernel, const T* bias, const Epilogue<T>& finish,
                           T* y) {
  const std::int64_t patch = plan.patch(), width = plan.group_filters();
  const T* kernels = dense_kernels(plan, kernel);
  parallel_for(plan.pixels(), kBlock, [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t count = end - begin;
    T* patches = patch_memory.get<T>(kBlock * patch);
    T* rows = y + begin * plan.filters;
    for (std::int64_t g = 0; g < plan.groups; ++g) {
      gather_patches(plan, x, g, begin, count, patches);
      T* product = plan.groups == 1 ? rows : product_memory.get<T>(kBlock * width);
      multiply<T>({count, width, patch, false, false}, patches, kernels + g * patch * width, product);
      if (plan.groups == 1) continue;
      for (std::int64_t i = 0; i < count; ++i) {
        std::copy_n(product + i * width, width, rows + i * plan.filters + g * width);
      }
    }
    if (!finish) return;
    for (std::int64_t i = 0; i < count; ++i) finish(rows + i * plan.filters, bias, plan.filters);
  });
}

template <class T>
void PatchConv<T>::input_gradient(const ConvPlan& plan, const T* dy, const T* kernel, T* dx) {
  using Sum = ComputeType<T>;
  const std::int64_t patch = plan.patch(), width = plan.group_filters(), size = plan.inputs() * plan.channels;
  const T* kernels = dense_kernels(plan, kernel);
  // One image is one task, since patches overlap.
  parallel_for(plan.batch, 1, [&](std::int64_t first, std::int64_t last) {
    T* patches = patch_memory.get<T>(kBlock * (patch + width));
    T* upstream = patches + kBlock * patch;
    Sum* sums = sum_memory.get<Sum>(size);
    for (std::int64_t image = first; image < last; ++image) {
      std::fill_n(sums, size, Sum(0));
      const std::int64_t end = (image + 1) * plan.outputs();
      for (std::int64_t begin = image * plan.outputs(); begin < end; begin += kBlock) {
        const std::int64_t count = std::min(kBlock, end - begin);
        for (std::int64_t g = 0; g < plan.groups; ++g) {
          copy_rows(dy + begin * plan.filters + g * width, plan.filters, count, width, upstream);
          multiply<T>({count, patch, width, false, true}, upstream, kernels + g * patch * width, patches);
          add_patches(plan, patches, g, begin, count, sums);
        }
      }
      for (std::int64_t i = 0; i < size; ++i) dx[image * size + i] = T(sums[i]);
    }
  });
}

template <class T>
void PatchConv<T>::kernel_gradient(const ConvPlan& plan, const T* x, const T* dy, T* dkernel) {
  using Sum = ComputeType<T>;
  constexpr std::int64_t kLongBlock = 4 * kBlock;
  const std::int64_t channels = plan.group_channels(), width = plan.group_filters(), size = channels * width;
  // A tap of a group is one task that walks over the whole batch, so the order of sums is fixed.
  parallel_for(plan.groups * plan.taps(), 1, [&](std::int64_t first, std::int64_t last) {
    T* pixels = patch_memory.get<T>(kLongBlock * (channels + width));
    T* upstream = pixels + kLongBlock * channels;
    T* product = product_memory.get<T>(size);
    Sum* sums = sum_memory.get<Sum>(size);
    for (std::int64_t task = first; task < last; ++task) {
      const std::int64_t group = task / plan.taps(), tap = task % plan.taps();
      const std::int64_t tap2 = tap % plan.windows[2].taps, tap1 = tap / plan.windows[2].taps % plan.windows[1].taps,
                         tap0 = tap / (plan.windows[2].taps * plan.windows[1].taps);
      std::fill_n(sums, size, Sum(0));
      ConvPixel pixel(plan, 0);
      for (std::int64_t begin = 0; begin < plan.pixels(); begin += kLongBlock) {
        const std::int64_t count = std::min(kLongBlock, plan.pixels() - begin);
        for (std::int64_t i = 0; i < count; ++i, pixel.next()) {
          const std::int64_t at = pixel.read(tap0, tap1, tap2);
          if (at < 0) {
            std::fill_n(pixels + i * channels, channels, T(0));
          } else {
            const T* source = x + (pixel.image * plan.inputs() + at) * plan.channels + group * channels;
            std::copy_n(source, channels, pixels + i * channels);
          }
        }
        copy_rows(dy + begin * plan.filters + group * width, plan.filters, count, width, upstream);
        multiply<T>({channels, width, count, true, false}, pixels, upstream, product);
        for (std::int64_t i = 0; i < size; ++i) sums[i] += Sum(product[i]);
      }
      for (std::int64_t c = 0; c < channels; ++c) {
        T* row = dkernel + (tap * channels + c) * plan.filters + group * width;
        for (std::int64_t f = 0; f < width; ++f) row[f] = T(sums[c * width + f]);
      }
    }
  });
}

template struct PatchConv<double>;

}  // namespace cohort
