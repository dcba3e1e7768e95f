#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

namespace cohort {

// How a kernel of `taps` elements moves along one axis: output o reads input o * stride + tap * dilation - before.
struct ConvWindow {
  std::int64_t inputs = 1, taps = 1, stride = 1, dilation = 1;
  std::int64_t outputs = 1, before = 0;

  // The input that an output reads through a tap, or -1 in the padding.
  std::int64_t input_at(std::int64_t output, std::int64_t tap) const {
    const std::int64_t at = output * stride + tap * dilation - before;
    return at >= 0 && at < inputs ? at : -1;
  }
  // Whether every output reads inside the input only.
  bool inside() const { return before == 0 && (outputs - 1) * stride + (taps - 1) * dilation < inputs; }
};

// "valid" reads inside the input only; "same" pads so that there are inputs / stride outputs, rounded up.
inline ConvWindow conv_window(std::int64_t inputs, std::int64_t taps, std::int64_t stride, std::int64_t dilation,
                              bool same) {
  ConvWindow window{inputs, taps, stride, dilation, 0, 0};
  const std::int64_t reach = (taps - 1) * dilation + 1;
  if (same) {
    window.outputs = (inputs + stride - 1) / stride;
    window.before = std::max<std::int64_t>(0, (window.outputs - 1) * stride + reach - inputs) / 2;
  } else {
    window.outputs = inputs < reach ? 0 : (inputs - reach) / stride + 1;
  }
  return window;
}

// The same by the name of the padding; "causal" pads before the first input only, so that no output looks ahead.
inline ConvWindow padded_window(std::int64_t inputs, std::int64_t taps, std::int64_t stride, std::int64_t dilation,
                                const std::string& padding) {
  if (padding != "causal") return conv_window(inputs, taps, stride, dilation, padding == "same");
  return {inputs, taps, stride, dilation, (inputs + stride - 1) / stride, (taps - 1) * dilation};
}

}  // namespace cohort
