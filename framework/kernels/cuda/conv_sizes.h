#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cohort/core/kernel.h"
#include "cohort/ops/conv_window.h"

namespace cohort::kernels::cuda {

// The sizes of a convolution over up to three spatial axes, as kernels get them; missing axes have size 1 and come
// first. Images are (batch, spatial axes, channels), kernels (taps, channels of a group, filters).
struct ConvSizes {
  static constexpr int kAxes = 3;

  std::int64_t batch, channels, filters, groups;
  std::int64_t group_channels, group_filters;
  ConvWindow axes[kAxes];

  ConvSizes(const KernelSpec& spec, const Shape& x, const Shape& kernel)
      : batch(x[0]), channels(x.back()), filters(kernel.back()), groups(spec.attr<std::int64_t>("groups")) {
    using Sizes = std::vector<std::int64_t>;
    const Sizes strides = spec.attr<Sizes>("strides"), dilations = spec.attr<Sizes>("dilations");
    const int spatial = x.rank() - 2;
    for (int i = 0; i < spatial; ++i) {
      const auto at = static_cast<std::size_t>(i);
      axes[kAxes - spatial + i] =
          padded_window(x[1 + i], kernel[i], strides[at], dilations[at], spec.attr<std::string>("padding"));
    }
    group_channels = channels / groups;
    group_filters = filters / groups;
  }

  std::int64_t taps() const { return axes[0].taps * axes[1].taps * axes[2].taps; }
  // Pixels of all images, and of all that comes out.
  std::int64_t inputs() const { return batch * axes[0].inputs * axes[1].inputs * axes[2].inputs; }
  std::int64_t outputs() const { return batch * axes[0].outputs * axes[1].outputs * axes[2].outputs; }
  std::int64_t kernel_size() const { return taps() * group_channels * filters; }
  // Each output pixel reads one pixel, its own.
  bool pointwise() const {
    bool same = groups == 1;
    for (const ConvWindow& axis : axes) same = same && axis.taps == 1 && axis.stride == 1 && axis.before == 0;
    return same;
  }
};

}  // namespace cohort::kernels::cuda
