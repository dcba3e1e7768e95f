#pragma once

#include <string>

#include "cohort/model/layer/layer.h"

namespace cohort::layers {

// "Dense 'dense_1'", as errors begin.
inline std::string title(const Layer& layer) { return layer.class_name() + " '" + layer.name() + "'"; }

// Throws unless the input has this many axes; `axes` says which: "(batch, height, width, channels)".
inline void check_rank(const Layer& layer, const Shape& input, int rank, const char* axes, const char* fix = "") {
  if (input.rank() == rank) return;
  throw invalid_argument(title(layer), "input must have " + std::to_string(rank) + " axes " + axes,
                         {{"input.shape", input}}, fix);
}

// Throws unless `data_format` is one Keras knows; empty stands for "channels_last".
inline void check_data_format(const Layer& layer, std::string& data_format) {
  if (data_format.empty()) data_format = "channels_last";
  if (data_format == "channels_last" || data_format == "channels_first") return;
  throw invalid_argument(layer.class_name(), "data_format must be 'channels_last' or 'channels_first'",
                         {{"data_format", "'" + data_format + "'"}});
}

}  // namespace cohort::layers
