#include "cohort/kernels/resize_weights.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace cohort::kernels {
namespace {

// Sums below this count as zero: such weights are left as they are.
constexpr float kNothing = 1000.0f * std::numeric_limits<float>::min();

using Taps = std::vector<ResizeTap>;

// Shares that add up to 1.
void normalize(Taps& taps, std::size_t first) {
  float sum = 0;
  for (std::size_t i = first; i < taps.size(); ++i) sum += taps[i].weight;
  if (std::abs(sum) < kNothing) return;
  for (std::size_t i = first; i < taps.size(); ++i) taps[i].weight /= sum;
}

struct Filter {
  float radius;
  float (*value)(float distance);
};

float triangle(float x) { return std::max(0.0f, 1.0f - x); }

float keys_cubic(float x) {
  if (x >= 2.0f) return 0.0f;
  return x >= 1.0f ? ((-0.5f * x + 2.5f) * x - 4.0f) * x + 2.0f : ((1.5f * x - 2.5f) * x) * x + 1.0f;
}

template <int radius>
float lanczos(float x) {
  constexpr float kPi = std::numbers::pi_v<float>, kRadius = radius;
  if (x > kRadius) return 0.0f;
  if (x <= 1e-3f) return 1.0f;
  return kRadius * std::sin(kPi * x) * std::sin(kPi * x / kRadius) / (kPi * kPi * x * x);
}

// Samples a filter around the output's place; on the way down it is widened when `antialias`.
void add_filtered(Taps& taps, const Filter& filter, float place, std::int64_t inputs, float scale, bool antialias) {
  const float stretch = antialias ? std::max(scale, 1.0f) : 1.0f, reach = filter.radius * stretch;
  const auto inside = [inputs](float at) {
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(at), 0, inputs - 1);
  };
  const std::size_t first = taps.size();
  const std::int64_t last = inside(std::floor(place + reach - 0.5f));
  for (std::int64_t i = inside(std::ceil(place - reach - 0.5f)); i <= last; ++i) {
    taps.push_back({i, filter.value(std::abs(static_cast<float>(i) + 0.5f - place) / stretch)});
  }
  normalize(taps, first);
}

// TensorFlow reads the cubic filter from a table of 1024 steps.
void add_cubic(Taps& taps, float place, std::int64_t inputs) {
  constexpr float kSteps = 1024.0f;
  const float center = place - 0.5f, below = std::floor(center);
  const float delta = static_cast<float>(std::lrint((center - below) * kSteps)) / kSteps;
  const std::size_t first = taps.size();
  const float distances[] = {1.0f + delta, delta, 1.0f - delta, 2.0f - delta};
  for (int i = 0; i < 4; ++i) {
    const std::int64_t input = static_cast<std::int64_t>(below) - 1 + i;
    if (input >= 0 && input < inputs) taps.push_back({input, keys_cubic(distances[i])});
  }
  normalize(taps, first);
}

// Rounded once, as TensorFlow does: where a result lies half way between two integers, the last bit decides.
void add_linear(Taps& taps, std::int64_t output, float scale, std::int64_t inputs) {
  const float center = std::fma(static_cast<float>(output) + 0.5f, scale, -0.5f);
  const float below = std::floor(center), share = center - below;
  taps.push_back({std::max<std::int64_t>(static_cast<std::int64_t>(below), 0), 1.0f - share});
  taps.push_back({std::min<std::int64_t>(static_cast<std::int64_t>(std::ceil(center)), inputs - 1), share});
}

// Each input by the part of it that the output covers.
void add_area(Taps& taps, std::int64_t output, std::int64_t inputs, float scale) {
  const float begin = static_cast<float>(output) * scale, end = static_cast<float>(output + 1) * scale;
  for (auto i = static_cast<std::int64_t>(std::floor(begin)); i < static_cast<std::int64_t>(std::ceil(end)); ++i) {
    const auto at = static_cast<float>(i);
    const float covered = std::min(at + 1.0f, end) - std::max(at, begin);
    taps.push_back({std::clamp<std::int64_t>(i, 0, inputs - 1), covered / scale});
  }
}

}  // namespace

ResizeWeights resize_weights(std::int64_t inputs, std::int64_t outputs, const std::string& interpolation,
                             bool antialias) {
  const float scale = static_cast<float>(inputs) / static_cast<float>(outputs);
  ResizeWeights weights;
  for (std::int64_t output = 0; output < outputs; ++output) {
    const float place = (static_cast<float>(output) + 0.5f) * scale;
    Taps& taps = weights.taps;
    if (interpolation == "nearest") {
      taps.push_back({std::min<std::int64_t>(static_cast<std::int64_t>(std::floor(place)), inputs - 1), 1.0f});
    } else if (interpolation == "area") {
      add_area(taps, output, inputs, scale);
    } else if (interpolation == "lanczos3" || interpolation == "lanczos5") {
      const Filter filter = interpolation == "lanczos3" ? Filter{3.0f, lanczos<3>} : Filter{5.0f, lanczos<5>};
      add_filtered(taps, filter, place, inputs, scale, antialias);
    } else if (interpolation == "bicubic") {
      if (antialias) {
        add_filtered(taps, {2.0f, keys_cubic}, place, inputs, scale, true);
      } else {
        add_cubic(taps, place, inputs);
      }
    } else if (antialias) {
      add_filtered(taps, {1.0f, triangle}, place, inputs, scale, true);
    } else {
      add_linear(taps, output, scale, inputs);
    }
    weights.first.push_back(static_cast<std::int64_t>(taps.size()));
  }
  return weights;
}

}  // namespace cohort::kernels
