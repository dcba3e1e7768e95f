#pragma once

#include <cohort/cohort.h>

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

// Data that the examples share.
namespace example {

// Whether the program was called with --smoke: a few steps on made-up data, to see that it runs.
inline bool is_smoke(int count, char** values) { return count > 1 && std::string_view(values[1]) == "--smoke"; }

// (train, test): images (28, 28) of bytes and their labels in [0, 10): Fashion-MNIST, or dark images with a bright line
// whose place is the label.
inline std::pair<cohort::Dataset, cohort::Dataset> images(bool smoke) {
  if (!smoke) return cohort::datasets::fashion_mnist();
  constexpr std::int64_t kCount = 64;
  std::vector<std::uint8_t> pixels(kCount * 28 * 28, 10), labels(kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    labels[i] = static_cast<std::uint8_t>(i % 10);
    for (std::size_t column = 0; column < 28; ++column) pixels[(i * 28 + 2 * labels[i] + 4) * 28 + column] = 200;
  }
  const auto data = cohort::datasets::from_tensor_slices(cohort::Tensor::of(pixels, {kCount, 28, 28}),
                                                         cohort::Tensor::of(labels, {kCount}));
  return {data, data};
}

// Sentences of `length` numbers in [1, words), 0 behind the end; the label says whether large numbers are in the
// majority.
inline std::pair<cohort::Tensor, cohort::Tensor> sentences(std::int64_t count, std::int64_t length,
                                                           std::int64_t words) {
  const auto n = static_cast<std::size_t>(count), steps = static_cast<std::size_t>(length);
  std::vector<std::int32_t> tokens(n * steps, 0), labels(n);
  std::uint32_t state = 1;
  const auto draw = [&](std::uint32_t below) { return ((state = state * 1664525u + 1013904223u) >> 8) % below; };
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t used = steps / 2 + draw(static_cast<std::uint32_t>(steps / 2));
    const auto favoured = static_cast<std::int32_t>(draw(2));
    std::size_t large = 0;
    for (std::size_t t = 0; t < used; ++t) {
      const bool high = draw(10) < 7 ? favoured == 1 : favoured == 0;
      const auto half = static_cast<std::uint32_t>(words / 2);
      tokens[i * steps + t] = static_cast<std::int32_t>(1 + draw(half - 1) + (high ? half : 0));
      large += high ? 1 : 0;
    }
    labels[i] = 2 * large > used ? 1 : 0;
  }
  return {cohort::Tensor::of(tokens, {count, length}), cohort::Tensor::of(labels, {count, 1})};
}

}  // namespace example
