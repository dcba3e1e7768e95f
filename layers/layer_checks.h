#pragma once

#include <string>

#include "cohort/core/text.h"
#include "cohort/model/layer/layer.h"

namespace cohort::layers {

// Throws unless the input has this many axes; `axes` says which: "(batch, height, width, channels)".
inline void check_rank(const Layer& layer, const Shape& input, int rank, const char* axes, const char* fix = "") {
  if (input.rank() == rank) return;
  throw invalid_argument(layer.title(), "input must have " + std::to_string(rank) + " axes " + axes,
                         {{"input.shape", input}}, fix);
}

// Throws unless `data_format` is one Keras knows; empty stands for "channels_last".
inline void check_data_format(const Layer& layer, std::string& data_format) {
  if (data_format.empty()) data_format = "channels_last";
  if (data_format == "channels_last" || data_format == "channels_first") return;
  throw invalid_argument(layer.class_name(), "data_format must be 'channels_last' or 'channels_first'",
                         {{"data_format", in_quotes(data_format)}});
}

}  // namespace cohort::layers
