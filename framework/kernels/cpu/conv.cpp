#include <algorithm>
#include <string>
#include <vector>

#include "cohort/core/kernel.h"
#include "cohort/core/scratch.h"
#include "cohort/core/thread_pool.h"
#include "cohort/kernels/cpu/gemm.h"
#include "cohort/kernels/cpu/visit.h"
#include "cohort/ops/conv_window.h"

namespace cohort {
namespace {

using Sizes = std::vector<std::int64_t>;

// The sizes of a convolution, from the shapes of its input and kernel.
struct ConvPlan {
  std::int64_t batch, channels, filters;
  ConvWindow rows, cols;

  ConvPlan(const KernelSpec& spec, const Shape& x, const Shape& kernel)
      : batch(x[0]),
        channels(x[3]),
        filters(kernel[3]),
        rows(window(spec, x, kernel, 0)),
        cols(window(spec, x, kernel, 1)) {}

  std::int64_t taps() const { return rows.taps * cols.taps; }
  std::int64_t patch() const { return taps() * channels; }
  std::int64_t outputs() const { return rows.outputs * cols.outputs; }
  std::int64_t image() const { return rows.inputs * cols.inputs * channels; }

 private:
  static ConvWindow window(const KernelSpec& spec, const Shape& x, const Shape& kernel, int axis) {
    const auto at = static_cast<std::size_t>(axis);
    return conv_window(x[1 + axis], kernel[axis], spec.attr<Sizes>("strides")[at], spec.attr<Sizes>("dilations")[at],
                       spec.attr<std::string>("padding") == "same");
  }
};

Scratch patch_memory, sum_memory;

template <class T>
void multiply(const Gemm<T>& gemm, const T* a, const T* b, T* c) {
  for (std::int64_t block = 0; block < gemm.blocks(); ++block) gemm.run_block(block, a, b, c);
}

// One row of outputs as a matrix: for each output the patch of the image it reads.
template <class T>
void gather_patches(const ConvPlan& plan, const T* image, std::int64_t out_row, T* patches) {
  for (std::int64_t o = 0; o < plan.cols.outputs; ++o) {
    for (std::int64_t ky = 0; ky < plan.rows.taps; ++ky) {
      const std::int64_t y = plan.rows.input_at(out_row, ky);
      for (std::int64_t kx = 0; kx < plan.cols.taps; ++kx, patches += plan.channels) {
        const std::int64_t x = plan.cols.input_at(o, kx);
        if (y < 0 || x < 0) {
          std::fill_n(patches, plan.channels, T(0));
        } else {
          std::copy_n(image + (y * plan.cols.inputs + x) * plan.channels, plan.channels, patches);
        }
      }
    }
  }
}

// The reverse: patches are added to the image they were read from.
template <class T>
void add_patches(const ConvPlan& plan, const T* patches, std::int64_t out_row, T* image) {
  for (std::int64_t o = 0; o < plan.cols.outputs; ++o) {
    for (std::int64_t ky = 0; ky < plan.rows.taps; ++ky) {
      const std::int64_t y = plan.rows.input_at(out_row, ky);
      for (std::int64_t kx = 0; kx < plan.cols.taps; ++kx, patches += plan.channels) {
        const std::int64_t x = plan.cols.input_at(o, kx);
        if (y < 0 || x < 0) continue;
        T* pixel = image + (y * plan.cols.inputs + x) * plan.channels;
        for (std::int64_t c = 0; c < plan.channels; ++c) pixel[c] = static_cast<T>(pixel[c] + patches[c]);
      }
    }
  }
}

KernelFn make_conv(const KernelSpec& spec) {
  const ConvPlan plan(spec, spec.input(0).shape, spec.input(1).shape);
  return visit_floating(spec.input(0).dtype, [&]<class T>(T) -> KernelFn {
    const Gemm<T> gemm({plan.cols.outputs, plan.filters, plan.patch(), false, false});
    return [plan, gemm](const KernelIO& io) {
      const T *x = io.in<T>(0), *kernel = io.in<T>(1);
      T* y = io.out<T>(0);
      parallel_for(plan.batch * plan.rows.outputs, 4, [&](std::int64_t begin, std::int64_t end) {
        T* patches = patch_memory.get<T>(plan.cols.outputs * plan.patch());
        for (std::int64_t row = begin; row < end; ++row) {
          gather_patches(plan, x + row / plan.rows.outputs * plan.image(), row % plan.rows.outputs, patches);
          multiply(gemm, patches, kernel, y + row * plan.cols.outputs * plan.filters);
        }
      });
    };
  });
}

// (dy, kernel, like): one image is one task, since the patches of its rows overlap.
KernelFn make_conv_grad_input(const KernelSpec& spec) {
  const ConvPlan plan(spec, spec.output(0).shape, spec.input(1).shape);
  return visit_floating(spec.input(0).dtype, [&]<class T>(T) -> KernelFn {
    const Gemm<T> gemm({plan.cols.outputs, plan.patch(), plan.filters, false, true});
    return [plan, gemm](const KernelIO& io) {
      const T *dy = io.in<T>(0), *kernel = io.in<T>(1);
      T* dx = io.out<T>(0);
      parallel_for(plan.batch, 1, [&](std::int64_t begin, std::int64_t end) {
        T* patches = patch_memory.get<T>(plan.cols.outputs * plan.patch());
        for (std::int64_t image = begin; image < end; ++image) {
          T* target = dx + image * plan.image();
          std::fill_n(target, plan.image(), T(0));
          for (std::int64_t row = 0; row < plan.rows.outputs; ++row) {
            const std::int64_t at = (image * plan.rows.outputs + row) * plan.cols.outputs * plan.filters;
            multiply(gemm, dy + at, kernel, patches);
            add_patches(plan, patches, row, target);
          }
        }
      });
    };
  });
}

// (x, dy, like): each tap of the kernel is one task that walks over the whole batch, so the order of sums is fixed.
KernelFn make_conv_grad_kernel(const KernelSpec& spec) {
  const ConvPlan plan(spec, spec.input(0).shape, spec.output(0).shape);
  return visit_floating(spec.input(0).dtype, [&]<class T>(T) -> KernelFn {
    using Sum = std::conditional_t<std::is_same_v<T, double>, double, float>;
    const Gemm<T> gemm({plan.channels, plan.filters, plan.outputs(), true, false});
    return [plan, gemm](const KernelIO& io) {
      const T *x = io.in<T>(0), *dy = io.in<T>(1);
      T* dkernel = io.out<T>(0);
      const std::int64_t size = plan.channels * plan.filters;
      parallel_for(plan.taps(), 1, [&](std::int64_t begin, std::int64_t end) {
        T* pixels = patch_memory.get<T>(plan.outputs() * plan.channels + size);
        T* product = pixels + plan.outputs() * plan.channels;
        Sum* sums = sum_memory.get<Sum>(size);
        for (std::int64_t tap = begin; tap < end; ++tap) {
          std::fill_n(sums, size, Sum(0));
          for (std::int64_t image = 0; image < plan.batch; ++image) {
            T* pixel = pixels;
            for (std::int64_t row = 0; row < plan.rows.outputs; ++row) {
              const std::int64_t in_row = plan.rows.input_at(row, tap / plan.cols.taps);
              for (std::int64_t col = 0; col < plan.cols.outputs; ++col, pixel += plan.channels) {
                const std::int64_t in_col = plan.cols.input_at(col, tap % plan.cols.taps);
                if (in_row < 0 || in_col < 0) {
                  std::fill_n(pixel, plan.channels, T(0));
                } else {
                  const std::int64_t at = (in_row * plan.cols.inputs + in_col) * plan.channels;
                  std::copy_n(x + image * plan.image() + at, plan.channels, pixel);
                }
              }
            }
            multiply(gemm, pixels, dy + image * plan.outputs() * plan.filters, product);
            for (std::int64_t i = 0; i < size; ++i) sums[i] += Sum(product[i]);
          }
          for (std::int64_t i = 0; i < size; ++i) dkernel[tap * size + i] = T(sums[i]);
        }
      });
    };
  });
}

COHORT_KERNEL("Conv2D", kCPU, make_conv);
COHORT_KERNEL("Conv2DGradInput", kCPU, make_conv_grad_input);
COHORT_KERNEL("Conv2DGradKernel", kCPU, make_conv_grad_kernel);

}  // namespace
}  // namespace cohort
