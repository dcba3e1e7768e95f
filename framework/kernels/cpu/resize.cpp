#include <algorithm>
#include <cmath>

#include "cohort/core/kernel.h"
#include "cohort/core/scratch.h"
#include "cohort/core/thread_pool.h"
#include "cohort/kernels/cpu/element_types.h"
#include "cohort/kernels/cpu/visit.h"
#include "cohort/kernels/resize_weights.h"

namespace cohort::kernels {
namespace {

// Height and width are resized one after the other.
struct ResizePlan {
  ResizePlan(const KernelSpec& spec, const Shape& x, const Shape& y)
      : batch(x[0]), height(x[1]), width(x[2]), new_height(y[1]), new_width(y[2]), channels(x[3]) {
    const std::string interpolation = spec.attr<std::string>("interpolation");
    const bool antialias = spec.attr<bool>("antialias");
    linear = interpolation == "bilinear" && !antialias;
    rows = resize_weights(height, new_height, interpolation, antialias);
    cols = resize_weights(width, new_width, interpolation, antialias);
  }
  std::int64_t image() const { return height * width * channels; }
  std::int64_t new_image() const { return new_height * new_width * channels; }

  std::int64_t batch, height, width, new_height, new_width, channels;
  ResizeWeights rows, cols;
  bool linear = false;  // every output lies between two inputs along each axis
};

// Calls body(tap) for what output `o` is made of.
template <class Body>
void for_taps(const ResizeWeights& weights, std::int64_t o, const Body& body) {
  const auto at = static_cast<std::size_t>(o);
  for (std::int64_t i = weights.first[at]; i < weights.first[at + 1]; ++i)
    body(weights.taps[static_cast<std::size_t>(i)]);
}

// A line of the output from the four inputs around each pixel. The steps and their rounding are TensorFlow's, so that
// integers come out the same.
template <class T, class C>
void linear_line(const ResizePlan& plan, const T* image, std::int64_t row, T* y) {
  const ResizeTap* down = plan.rows.taps.data() + 2 * row;
  const T* above = image + down[0].input * plan.width * plan.channels;
  const T* below = image + down[1].input * plan.width * plan.channels;
  const C down_share = C(down[1].weight);
  for (std::int64_t col = 0; col < plan.new_width; ++col, y += plan.channels) {
    const ResizeTap* across = plan.cols.taps.data() + 2 * col;
    const std::int64_t left = across[0].input * plan.channels, right = across[1].input * plan.channels;
    const C share = C(across[1].weight);
    for (std::int64_t c = 0; c < plan.channels; ++c) {
      const C top = std::fma(C(above[right + c]) - C(above[left + c]), share, C(above[left + c]));
      const C bottom = std::fma(C(below[right + c]) - C(below[left + c]), share, C(below[left + c]));
      y[c] = T(std::fma(bottom - top, down_share, top));
    }
  }
}

Scratch line_memory;

KernelFn make_resize(const KernelSpec& spec) {
  const ResizePlan plan(spec, spec.input(0).shape, spec.output(0).shape);
  return visit_floating(spec.input(0).dtype, [&]<class T>(T) -> KernelFn {
    using C = Compute<T>;
    return [plan](const KernelIO& io) {
      const std::int64_t line_size = plan.width * plan.channels, new_line = plan.new_width * plan.channels;
      const std::int64_t grain = std::max<std::int64_t>(1, 8192 / std::max<std::int64_t>(1, line_size + new_line));
      parallel_for(plan.batch * plan.new_height, grain, [&](std::int64_t begin, std::int64_t end) {
        C* line = line_memory.get<C>(line_size + plan.channels);
        C* pixel = line + line_size;
        for (std::int64_t row = begin; row < end; ++row) {
          const T* image = io.in<T>(0) + row / plan.new_height * plan.image();
          if (plan.linear) {
            linear_line<T, C>(plan, image, row % plan.new_height, io.out<T>(0) + row * new_line);
            continue;
          }
          std::fill_n(line, line_size, C(0));
          for_taps(plan.rows, row % plan.new_height, [&](const ResizeTap& tap) {
            const T* source = image + tap.input * line_size;
            for (std::int64_t i = 0; i < line_size; ++i) line[i] += C(tap.weight) * C(source[i]);
          });
          T* y = io.out<T>(0) + row * new_line;
          for (std::int64_t col = 0; col < plan.new_width; ++col, y += plan.channels) {
            std::fill_n(pixel, plan.channels, C(0));
            for_taps(plan.cols, col, [&](const ResizeTap& tap) {
              const C* source = line + tap.input * plan.channels;
              for (std::int64_t c = 0; c < plan.channels; ++c) pixel[c] += C(tap.weight) * source[c];
            });
            for (std::int64_t c = 0; c < plan.channels; ++c) y[c] = T(pixel[c]);
          }
        }
      });
    };
  });
}

// (dy, like): one image is one task, since its rows share inputs.
KernelFn make_resize_grad(const KernelSpec& spec) {
  const ResizePlan plan(spec, spec.output(0).shape, spec.input(0).shape);
  return visit_floating(spec.input(0).dtype, [&]<class T>(T) -> KernelFn {
    using C = Compute<T>;
    return [plan](const KernelIO& io) {
      const std::int64_t line_size = plan.width * plan.channels;
      parallel_for(plan.batch, 1, [&](std::int64_t begin, std::int64_t end) {
        C* line = line_memory.get<C>(line_size + plan.image());
        C* sums = line + line_size;
        for (std::int64_t image = begin; image < end; ++image) {
          std::fill_n(sums, plan.image(), C(0));
          const T* dy = io.in<T>(0) + image * plan.new_image();
          for (std::int64_t row = 0; row < plan.new_height; ++row) {
            std::fill_n(line, line_size, C(0));
            for (std::int64_t col = 0; col < plan.new_width; ++col, dy += plan.channels) {
              for_taps(plan.cols, col, [&](const ResizeTap& tap) {
                C* target = line + tap.input * plan.channels;
                for (std::int64_t c = 0; c < plan.channels; ++c) target[c] += C(tap.weight) * C(dy[c]);
              });
            }
            for_taps(plan.rows, row, [&](const ResizeTap& tap) {
              C* target = sums + tap.input * line_size;
              for (std::int64_t i = 0; i < line_size; ++i) target[i] += C(tap.weight) * line[i];
            });
          }
          T* dx = io.out<T>(0) + image * plan.image();
          for (std::int64_t i = 0; i < plan.image(); ++i) dx[i] = T(sums[i]);
        }
      });
    };
  });
}

COHORT_KERNEL("Resize", kCPU, make_resize);
COHORT_KERNEL("ResizeGrad", kCPU, make_resize_grad);

}  // namespace
}  // namespace cohort::kernels
