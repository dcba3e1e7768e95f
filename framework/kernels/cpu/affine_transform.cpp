#include <algorithm>
#include <cmath>
#include <string>

#include "cohort/core/kernel.h"
#include "cohort/core/scratch.h"
#include "cohort/core/thread_pool.h"
#include "cohort/kernels/cpu/element_types.h"
#include "cohort/kernels/cpu/visit.h"

namespace cohort::kernels {
namespace {

enum class Fill { Constant, Nearest, Reflect, Wrap };

struct AffinePlan {
  explicit AffinePlan(const KernelSpec& spec)
      : batch(spec.input(0).shape[0]),
        height(spec.input(0).shape[1]),
        width(spec.input(0).shape[2]),
        channels(spec.input(0).shape[3]),
        transform_step(spec.input(1).shape[0] == 1 ? 0 : 8),
        bilinear(spec.attr<std::string>("interpolation") == "bilinear"),
        fill_value(spec.attr<double>("fill_value")) {
    const std::string mode = spec.attr<std::string>("fill_mode");
    fill = mode == "nearest"   ? Fill::Nearest
           : mode == "reflect" ? Fill::Reflect
           : mode == "wrap"    ? Fill::Wrap
                               : Fill::Constant;
  }
  std::int64_t image() const { return height * width * channels; }

  std::int64_t batch, height, width, channels, transform_step;
  bool bilinear;
  double fill_value;
  Fill fill;
};

// A place outside the image, brought inside: [abcd] goes on as [dcba|abcd|dcba] when reflected.
float reflected(float at, std::int64_t size) {
  const auto twice = static_cast<float>(2 * size);
  if (at < 0) {
    at += twice * std::trunc(-at / twice);
    return at < static_cast<float>(-size) ? at + twice : -at - 1;
  }
  if (at <= static_cast<float>(size - 1)) return at;
  at -= twice * std::trunc(at / twice);
  return at >= static_cast<float>(size) ? twice - at - 1 : at;
}

float wrapped(float at, std::int64_t size) {
  const auto whole = static_cast<float>(size), last = static_cast<float>(size - 1);
  if (at < 0) return at + whole * (std::trunc(-at / last) + 1);
  if (at > last) return at - whole * std::trunc(at / last);
  return at;
}

float place_inside(float at, std::int64_t size, Fill fill) {
  if (fill == Fill::Constant) return at;
  const auto last = static_cast<float>(size - 1);
  if (size > 1 && fill == Fill::Reflect) at = reflected(at, size);
  if (size > 1 && fill == Fill::Wrap) at = wrapped(at, size);
  return std::clamp(at, 0.0f, last);
}

// Where in its image an output is read: up to four pixels with their shares; offset -1 is outside the image.
struct Sample {
  std::int64_t offsets[4];
  float weights[4];
  int count = 0;

  void add(const AffinePlan& plan, float y, float x, float weight) {
    const bool inside = y >= 0 && x >= 0 && y < static_cast<float>(plan.height) && x < static_cast<float>(plan.width);
    offsets[count] =
        inside ? (static_cast<std::int64_t>(y) * plan.width + static_cast<std::int64_t>(x)) * plan.channels : -1;
    weights[count++] = weight;
  }
};

Sample sample_at(const AffinePlan& plan, const float* transform, std::int64_t row, std::int64_t col) {
  const auto y = static_cast<float>(row), x = static_cast<float>(col);
  Sample sample;
  const float k = transform[6] * x + transform[7] * y + 1.0f;
  if (k == 0) {
    sample.add(plan, -1, -1, 1.0f);
    return sample;
  }
  const float in_x = place_inside((transform[0] * x + transform[1] * y + transform[2]) / k, plan.width, plan.fill);
  const float in_y = place_inside((transform[3] * x + transform[4] * y + transform[5]) / k, plan.height, plan.fill);
  if (!plan.bilinear) {
    sample.add(plan, std::round(in_y), std::round(in_x), 1.0f);
    return sample;
  }
  const float top = std::floor(in_y), left = std::floor(in_x), down = in_y - top, right = in_x - left;
  sample.add(plan, top, left, (1.0f - down) * (1.0f - right));
  sample.add(plan, top, left + 1, (1.0f - down) * right);
  sample.add(plan, top + 1, left, down * (1.0f - right));
  sample.add(plan, top + 1, left + 1, down * right);
  return sample;
}

Scratch sum_memory;

KernelFn make_affine_transform(const KernelSpec& spec) {
  const AffinePlan plan(spec);
  return visit_floating(spec.input(0).dtype, [&]<class T>(T) -> KernelFn {
    using C = Compute<T>;
    return [plan](const KernelIO& io) {
      parallel_for(plan.batch * plan.height, 4, [&](std::int64_t begin, std::int64_t end) {
        C* pixel = sum_memory.get<C>(plan.channels);
        for (std::int64_t row = begin; row < end; ++row) {
          const std::int64_t image = row / plan.height;
          const T* x = io.in<T>(0) + image * plan.image();
          const float* transform = io.in<float>(1) + image * plan.transform_step;
          T* y = io.out<T>(0) + row * plan.width * plan.channels;
          for (std::int64_t col = 0; col < plan.width; ++col, y += plan.channels) {
            const Sample sample = sample_at(plan, transform, row % plan.height, col);
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
        C* sums = sum_memory.get<C>(plan.image());
        for (std::int64_t image = begin; image < end; ++image) {
          std::fill_n(sums, plan.image(), C(0));
          const T* dy = io.in<T>(0) + image * plan.image();
          const float* transform = io.in<float>(1) + image * plan.transform_step;
          for (std::int64_t row = 0; row < plan.height; ++row) {
            for (std::int64_t col = 0; col < plan.width; ++col, dy += plan.channels) {
              const Sample sample = sample_at(plan, transform, row, col);
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
