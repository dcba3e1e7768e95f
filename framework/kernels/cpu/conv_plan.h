#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "cohort/core/kernel.h"
#include "cohort/ops/conv_window.h"

namespace cohort {

// The sizes of a convolution over up to three spatial axes (missing ones have size 1 and come first), and which pixel
// of the image each output pixel reads through each tap of the kernel.
class ConvPlan {
 public:
  static constexpr int kAxes = 3;

  ConvPlan(const KernelSpec& spec, const Shape& x, const Shape& kernel)
      : batch(x[0]), channels(x.back()), filters(kernel.back()), groups(spec.attr<std::int64_t>("groups")) {
    using Sizes = std::vector<std::int64_t>;
    const Sizes strides = spec.attr<Sizes>("strides"), dilations = spec.attr<Sizes>("dilations");
    const int spatial = x.rank() - 2;
    for (int i = 0; i < spatial; ++i) {
      windows[static_cast<std::size_t>(kAxes - spatial + i)] =
          padded_window(x[1 + i], kernel[i], strides[static_cast<std::size_t>(i)],
                        dilations[static_cast<std::size_t>(i)], spec.attr<std::string>("padding"));
    }
    std::int64_t pitch = 1;
    for (std::size_t axis = kAxes; axis-- > 0;) {
      const ConvWindow& window = windows[axis];
      for (std::int64_t output = 0; output < window.outputs; ++output) {
        for (std::int64_t tap = 0; tap < window.taps; ++tap) {
          const std::int64_t at = window.input_at(output, tap);
          reads_[axis].push_back(at < 0 ? kPadding : at * pitch);
        }
      }
      pitch *= window.inputs;
    }
  }

  std::int64_t taps() const { return windows[0].taps * windows[1].taps * windows[2].taps; }
  std::int64_t outputs() const { return windows[0].outputs * windows[1].outputs * windows[2].outputs; }
  std::int64_t inputs() const { return windows[0].inputs * windows[1].inputs * windows[2].inputs; }
  std::int64_t pixels() const { return batch * outputs(); }
  std::int64_t group_channels() const { return channels / groups; }
  std::int64_t group_filters() const { return filters / groups; }
  // What one output of a group is a sum over.
  std::int64_t patch() const { return taps() * group_channels(); }
  // Each channel has filters of its own.
  bool depthwise() const { return groups > 1 && groups == channels; }

  std::int64_t batch, channels, filters, groups;
  std::array<ConvWindow, kAxes> windows;

 private:
  friend class ConvPixel;
  static constexpr std::int64_t kPadding = -(std::int64_t{1} << 60);
  std::array<std::vector<std::int64_t>, kAxes> reads_;  // for each output and tap of an axis
};

// Where one output pixel reads.
struct ConvReads {
  std::int64_t image = 0;  // of the batch
  std::array<const std::int64_t*, ConvPlan::kAxes> reads = {};

  // The pixel of its image that it reads through a tap, negative in the padding.
  std::int64_t read(std::int64_t tap0, std::int64_t tap1, std::int64_t tap2) const {
    return reads[0][tap0] + reads[1][tap1] + reads[2][tap2];
  }
  std::int64_t read(const std::array<std::int64_t, ConvPlan::kAxes>& taps) const {
    return read(taps[0], taps[1], taps[2]);
  }
};

// A walk over all output pixels of a batch.
class ConvPixel : public ConvReads {
 public:
  ConvPixel(const ConvPlan& plan, std::int64_t index) : plan_(&plan) {
    if (plan.pixels() == 0) return;
    image = index / plan.outputs();
    std::int64_t rest = index % plan.outputs();
    for (std::size_t axis = ConvPlan::kAxes; axis-- > 0;) {
      at_[axis] = rest % plan.windows[axis].outputs;
      rest /= plan.windows[axis].outputs;
      set_reads(axis);
    }
  }

  void next() {
    for (std::size_t axis = ConvPlan::kAxes; axis-- > 0;) {
      const bool carry = ++at_[axis] == plan_->windows[axis].outputs;
      if (carry) at_[axis] = 0;
      set_reads(axis);
      if (!carry) return;
    }
    ++image;
  }

  // Calls visit(tap, pixel) for every tap in the kernel's order; the pixel is negative in the padding.
  template <class Visit>
  void each_tap(const Visit& visit) const {
    std::int64_t tap = 0;
    for (std::int64_t i = 0; i < plan_->windows[0].taps; ++i) {
      for (std::int64_t j = 0; j < plan_->windows[1].taps; ++j) {
        for (std::int64_t k = 0; k < plan_->windows[2].taps; ++k) visit(tap++, read(i, j, k));
      }
    }
  }

 private:
  void set_reads(std::size_t axis) { reads[axis] = plan_->reads_[axis].data() + at_[axis] * plan_->windows[axis].taps; }

  const ConvPlan* plan_;
  std::array<std::int64_t, ConvPlan::kAxes> at_ = {};
};

}  // namespace cohort
