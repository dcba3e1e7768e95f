#include <algorithm>

#include "cohort/core/kernel.h"
#include "cohort/core/scratch.h"
#include "cohort/core/thread_pool.h"
#include "cohort/kernels/affine_sample.h"
#include "cohort/kernels/cpu/element_types.h"
#include "cohort/kernels/cpu/visit.h"

namespace cohort::kernels {
namespace {

Scratch affine_sums;

KernelFn make_affine_transform(const KernelSpec& spec) {
  const AffinePlan plan(spec);
  return visit_floating(spec.input(0).dtype, [&]<class T>(T) -> KernelFn {
    using C = Compute<T>;
    return [plan](const KernelIO& io) {
      parallel_for(plan.batch * plan.height, 4, [&](std::int64_t begin, std::int64_t end) {
        C* pixel = affine_sums.get<C>(plan.channels);
        for (std::int64_t row = begin; row < end; ++row) {
          const std::int64_t image = row / plan.height;
          const T* x = io.in<T>(0) + image * plan.image();
          const float* transform = io.in<float>(1) + image * plan.transform_step;
          T* y = io.out<T>(0) + row * plan.width * plan.channels;
          for (std::int64_t col = 0; col < plan.width; ++col, y += plan.channels) {
            const AffineSample sample = sample_at(plan, transform, row % plan.height, col);
            std::fill_n(pixel, plan.channels, C(0));
            for (int i = 0; i < sample.count; ++i) {
              const C weight = static_cast<C>(sample.weights[i]);
              const std::int64_t offset = sample.offsets[i];
              for (std::int64_t c = 0; c < plan.channels; ++c) {
                pixel[c] += weight * (offset < 0 ? static_cast<C>(plan.fill_value) : C(x[offset + c]));
              }
            }
            for (std::int64_t c = 0; c < plan.channels; ++c) y[c] = T(pixel[c]);
          }
        }
      });
    };
  });
}

KernelFn make_affine_transform_grad(const KernelSpec& spec) {
  const AffinePlan plan(spec);
  return visit_floating(spec.input(0).dtype, [&]<class T>(T) -> KernelFn {
    using C = Compute<T>;
    return [plan](const KernelIO& io) {
      parallel_for(plan.batch, 1, [&](std::int64_t begin, std::int64_t end) {
        C* sums = affine_sums.get<C>(plan.image());
        for (std::int64_t image = begin; image < end; ++image) {
          std::fill_n(sums, plan.image(), C(0));
          const T* dy = io.in<T>(0) + image * plan.image();
          const float* transform = io.in<float>(1) + image * plan.transform_step;
          for (std::int64_t row = 0; row < plan.height; ++row) {
            for (std::int64_t col = 0; col < plan.width; ++col, dy += plan.channels) {
              const AffineSample sample = sample_at(plan, transform, row, col);
              for (int i = 0; i < sample.count; ++i) {
                if (sample.offsets[i] < 0) continue;
                for (std::int64_t c = 0; c < plan.channels; ++c) {
                  sums[sample.offsets[i] + c] += static_cast<C>(sample.weights[i]) * C(dy[c]);
                }
              }
            }
          }
          T* dx = io.out<T>(0) + image * plan.image();
          for (std::int64_t i = 0; i < plan.image(); ++i) dx[i] = T(sums[i]);
        }
      });
    };
  });
}

COHORT_KERNEL("AffineTransform", kCPU, make_affine_transform);
COHORT_KERNEL("AffineTransformGrad", kCPU, make_affine_transform_grad);

}  // namespace
}  // namespace cohort::kernels
