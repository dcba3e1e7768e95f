#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cohort::kernels {

// What one output along an axis is made of: inputs and their shares.
struct ResizeTap {
  std::int64_t input;
  float weight;
};

// For each output its taps; those of output o are [first[o], first[o + 1]).
struct ResizeWeights {
  std::vector<std::int64_t> first = {0};
  std::vector<ResizeTap> taps;
};

ResizeWeights resize_weights(std::int64_t inputs, std::int64_t outputs, const std::string& interpolation,
                             bool antialias);

}  // namespace cohort::kernels
