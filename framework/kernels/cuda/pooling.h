#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cohort/core/kernel.h"
#include "cohort/kernels/cuda/elementwise.h"
#include "cohort/kernels/cuda/index_math.h"
#include "cohort/ops/conv_window.h"

namespace cohort::kernels::cuda {

// The windows of a pooling along one axis: PoolWindows, worked out where they are needed.
struct PoolAxis {
  int inputs = 1, outputs = 1, size = 1, stride = 1, before = 0;
  bool adaptive = false;
  BoundedDivider by_stride, by_inputs, by_outputs;

  PoolAxis() = default;
  explicit PoolAxis(const ConvWindow& window)
      : inputs(static_cast<int>(window.inputs)),
        outputs(static_cast<int>(window.outputs)),
        size(static_cast<int>(window.taps)),
        stride(static_cast<int>(window.stride)),
        before(static_cast<int>(window.before)),
        by_stride(window.stride, window.inputs + window.before) {}
  // Spread evenly over the inputs.
  PoolAxis(std::int64_t inputs, std::int64_t outputs)
      : inputs(static_cast<int>(inputs)),
        outputs(static_cast<int>(outputs)),
        adaptive(true),
        by_inputs(inputs, (inputs + 1) * (outputs + 1)),
        by_outputs(outputs, (inputs + 1) * (outputs + 1)) {}

  // The inputs [begin, end) of an output.
  __device__ int begin(int output) const {
    if (adaptive) return scaled(output, inputs, 0, by_outputs);
    const int first = output * stride - before;
    return first > 0 ? first : 0;
  }
  __device__ int end(int output) const {
    if (adaptive) return scaled(output + 1, inputs, outputs - 1, by_outputs);
    const int last = output * stride - before + size;
    return last < inputs ? last : inputs;
  }
  // The outputs [first_over, end_over) that read an input.
  __device__ int first_over(int input) const {
    if (adaptive) return scaled(input, outputs, 0, by_inputs);
    const int unread = input + before - size;
    return unread < 0 ? 0 : static_cast<int>(by_stride.divide(unread)) + 1;
  }
  __device__ int end_over(int input) const {
    if (adaptive) return scaled(input + 1, outputs, inputs - 1, by_inputs);
    const int end = static_cast<int>(by_stride.divide(input + before)) + 1;
    return end < outputs ? end : outputs;
  }

 private:
  __device__ static int scaled(int at, int by, int more, const BoundedDivider& over) {
    return static_cast<int>(over.divide(static_cast<std::int64_t>(at) * by + more));
  }
};

// Where an element, or several neighbouring channels, lies in (batch, three axes, channels).
struct PoolPlace {
  std::int64_t image, channel;
  int at[3];
};

// One side of a pooling: images of three axes and channels; axes that the tensor lacks have size 1.
struct PoolSide {
  PoolSide() = default;
  PoolSide(std::int64_t batch, int a, int b, int c, std::int64_t channels) : size{a, b, c}, channels(channels) {
    const std::int64_t pixels = std::int64_t{a} * b * c;
    elements = batch * pixels * channels;
    for (int axis = 0; axis < 3; ++axis) by_size[axis] = BoundedDivider(size[axis], elements);
  }

  // Of the i-th group of `count` channels.
  __device__ PoolPlace place(std::int64_t i, const BoundedDivider& by_groups, int count) const {
    PoolPlace place;
    std::int64_t rest = i;
    i = by_groups.split(rest);
    place.channel = rest * count;
    for (int axis = 2; axis >= 0; --axis) {
      rest = i;
      i = by_size[axis].split(rest);
      place.at[axis] = static_cast<int>(rest);
    }
    place.image = i;
    return place;
  }
  __device__ std::int64_t offset(const PoolPlace& place, int a, int b, int c) const {
    const std::int64_t line = (place.image * size[0] + a) * size[1] + b;
    return (line * size[2] + c) * channels + place.channel;
  }

  int size[3] = {1, 1, 1};
  std::int64_t channels = 0, elements = 0;
  BoundedDivider by_size[3];
};

struct PoolGeometry {
  PoolGeometry(const KernelSpec& spec, const Shape& x) {
    using Sizes = std::vector<std::int64_t>;
    const Sizes output_size = spec.attr<Sizes>("output_size"), pool_size = spec.attr<Sizes>("pool_size");
    const Sizes strides = spec.attr<Sizes>("strides");
    const bool same = spec.attr<std::string>("padding") == "same";
    for (int axis = 0; axis < x.rank() - 2; ++axis) {
      const auto at = static_cast<std::size_t>(axis);
      axes[axis] = output_size.empty() ? PoolAxis(conv_window(x[axis + 1], pool_size[at], strides[at], 1, same))
                                       : PoolAxis(x[axis + 1], output_size[at]);
    }
    input = PoolSide(x[0], axes[0].inputs, axes[1].inputs, axes[2].inputs, x.back());
    output = PoolSide(x[0], axes[0].outputs, axes[1].outputs, axes[2].outputs, x.back());
  }

  // The inputs of the window of an output, along each axis.
  struct Window {
    int begin[3], end[3];

    __device__ int taps() const { return (end[0] - begin[0]) * (end[1] - begin[1]) * (end[2] - begin[2]); }
    // Number of an input of the window.
    __device__ int tap_of(const int (&at)[3]) const {
      return ((at[0] - begin[0]) * (end[1] - begin[1]) + at[1] - begin[1]) * (end[2] - begin[2]) + at[2] - begin[2];
    }
  };
  __device__ Window window(int a, int b, int c) const {
    return {{axes[0].begin(a), axes[1].begin(b), axes[2].begin(c)}, {axes[0].end(a), axes[1].end(b), axes[2].end(c)}};
  }

  // Calls body(offset of an input) for each input of an output's window, in order.
  template <class Body>
  __device__ void for_each_tap(const PoolPlace& place, const Window& window, const Body& body) const {
    for (int a = window.begin[0]; a < window.end[0]; ++a) {
      for (int b = window.begin[1]; b < window.end[1]; ++b) {
        std::int64_t offset = input.offset(place, a, b, window.begin[2]);
        for (int c = window.begin[2]; c < window.end[2]; ++c, offset += input.channels) body(offset);
      }
    }
  }
  // Calls body(offset of an output, its window) for each output that reads an input, in order.
  template <class Body>
  __device__ void for_each_window_over(const PoolPlace& place, const Body& body) const {
    int first[3], end[3];
    for (int axis = 0; axis < 3; ++axis) {
      first[axis] = axes[axis].first_over(place.at[axis]);
      end[axis] = axes[axis].end_over(place.at[axis]);
    }
    for (int a = first[0]; a < end[0]; ++a) {
      for (int b = first[1]; b < end[1]; ++b) {
        for (int c = first[2]; c < end[2]; ++c) body(output.offset(place, a, b, c), window(a, b, c));
      }
    }
  }

  PoolAxis axes[3];
  PoolSide input, output;
};

}  // namespace cohort::kernels::cuda
