#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "cohort/core/kernel.h"
#include "cohort/kernels/scalar_math.h"

namespace cohort::kernels {

enum class AffineFill { Constant, Nearest, Reflect, Wrap };

// What AffineTransform and its gradient are to do.
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
    fill = mode == "nearest"   ? AffineFill::Nearest
           : mode == "reflect" ? AffineFill::Reflect
           : mode == "wrap"    ? AffineFill::Wrap
                               : AffineFill::Constant;
  }
  COHORT_FN std::int64_t image() const { return height * width * channels; }

  std::int64_t batch, height, width, channels, transform_step;
  bool bilinear;
  double fill_value;
  AffineFill fill;
};

// A place outside the image, brought inside: [abcd] goes on as [dcba|abcd|dcba] when reflected.
COHORT_FN float reflected(float at, std::int64_t size) {
  const auto twice = static_cast<float>(2 * size);
  if (at < 0) {
    at += twice * std::trunc(-at / twice);
    return at < static_cast<float>(-size) ? at + twice : -at - 1;
  }
  if (at <= static_cast<float>(size - 1)) return at;
  at -= twice * std::trunc(at / twice);
  return at >= static_cast<float>(size) ? twice - at - 1 : at;
}

COHORT_FN float wrapped(float at, std::int64_t size) {
  const auto whole = static_cast<float>(size), last = static_cast<float>(size - 1);
  if (at < 0) return at + whole * (std::trunc(-at / last) + 1);
  if (at > last) return at - whole * std::trunc(at / last);
  return at;
}

COHORT_FN float place_inside(float at, std::int64_t size, AffineFill fill) {
  if (fill == AffineFill::Constant) return at;
  const auto last = static_cast<float>(size - 1);
  if (size > 1 && fill == AffineFill::Reflect) at = reflected(at, size);
  if (size > 1 && fill == AffineFill::Wrap) at = wrapped(at, size);
  return std::clamp(at, 0.0f, last);
}

// Where in its image an output is read: up to four pixels with their shares; offset -1 is outside the image.
struct AffineSample {
  std::int64_t offsets[4];
  float weights[4];
  int count = 0;

  COHORT_FN void add(const AffinePlan& plan, float y, float x, float weight) {
    const bool inside = y >= 0 && x >= 0 && y < static_cast<float>(plan.height) && x < static_cast<float>(plan.width);
    offsets[count] =
        inside ? (static_cast<std::int64_t>(y) * plan.width + static_cast<std::int64_t>(x)) * plan.channels : -1;
    weights[count++] = weight;
  }
};

COHORT_FN AffineSample sample_at(const AffinePlan& plan, const float* transform, std::int64_t row, std::int64_t col) {
  const auto y = static_cast<float>(row), x = static_cast<float>(col);
  AffineSample sample;
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

}  // namespace cohort::kernels
