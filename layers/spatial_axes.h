#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cohort/layers/layer_checks.h"

namespace cohort::layers {

// What layers of 1, 2 or 3 spatial axes share.

// "(batch, height, width, channels)"
inline std::string spatial_axes(int spatial, bool channels_last) {
  const std::string axes = spatial == 1 ? "steps" : spatial == 2 ? "height, width" : "depth, height, width";
  return channels_last ? "(batch, " + axes + ", channels)" : "(batch, channels, " + axes + ")";
}

// Throws unless the input has the batch, the channels and this many axes besides.
inline void check_spatial_rank(const Layer& layer, const Shape& input, int spatial, const std::string& data_format) {
  check_rank(layer, input, spatial + 2, spatial_axes(spatial, data_format != "channels_first").c_str(),
             "Add a Reshape layer before it.");
}

// The positions of the spatial axes: {1, 2} for images with channels last.
inline std::vector<std::int64_t> spatial_positions(int spatial, const std::string& data_format) {
  std::vector<std::int64_t> positions;
  for (int i = 0; i < spatial; ++i) positions.push_back(i + (data_format == "channels_first" ? 2 : 1));
  return positions;
}

}  // namespace cohort::layers
