#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cohort/core/tensor.h"
#include "cohort/core/text.h"
#include "cohort/ops/array.h"

namespace cohort::ops {

inline std::vector<std::int64_t> for_each_axis(std::vector<std::int64_t> values, int axes) {
  if (values.size() == 1) values.resize(static_cast<std::size_t>(axes), values[0]);
  return values;
}

// Runs `compute` on an image whose channels come last, whatever comes in and goes out.
template <class Compute>
Tensor with_channels_last(std::string_view who, const Tensor& inputs, const std::string& data_format,
                          const Compute& compute) {
  if (data_format == "channels_last") return compute(inputs);
  if (data_format != "channels_first") {
    throw invalid_argument(who, "data_format must be 'channels_last' or 'channels_first'",
                           {{"data_format", in_quotes(data_format)}});
  }
  std::vector<std::int64_t> to_last = {0}, to_first = {0, inputs.rank() - 1};
  for (std::int64_t i = 2; i < inputs.rank(); ++i) {
    to_last.push_back(i);
    to_first.push_back(i - 1);
  }
  to_last.push_back(1);
  return transpose(compute(transpose(inputs, to_last)), to_first);
}

// The same on images (batch, height, width, channels), also when one comes without the batch.
template <class Compute>
Tensor with_images_channels_last(std::string_view who, const Tensor& images, const std::string& data_format,
                                 const Compute& compute) {
  if (images.rank() != 3 && images.rank() != 4) {
    throw invalid_argument(who, "images with 4 axes are expected, or one image without the batch",
                           {{"images.shape", images.shape()}});
  }
  if (images.rank() == 4) return with_channels_last(who, images, data_format, compute);
  return squeeze(with_channels_last(who, expand_dims(images, 0), data_format, compute), {0});
}

}  // namespace cohort::ops
