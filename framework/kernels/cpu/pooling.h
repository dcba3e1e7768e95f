#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "cohort/core/kernel.h"
#include "cohort/core/thread_pool.h"
#include "cohort/ops/pool_windows.h"

namespace cohort::kernels {

// The windows of a pooling over (batch, three axes, channels); axes that the input lacks have size 1.
struct PoolPlan {
  PoolPlan(const KernelSpec& spec, const Shape& x);

  // Elements between neighbours along an axis of the input, and in a whole image.
  std::int64_t step(int axis) const {
    return axis == 2 ? channels : axis == 1 ? axes[2].inputs * channels : axes[1].inputs * axes[2].inputs * channels;
  }
  std::int64_t image() const { return axes[0].inputs * step(0); }
  // Outputs of one row of windows along the first axis, and the number of such rows.
  std::int64_t row_outputs() const { return axes[1].outputs() * axes[2].outputs() * channels; }
  std::int64_t rows() const { return axes[0].outputs(); }
  bool disjoint() const { return axes[0].disjoint() && axes[1].disjoint() && axes[2].disjoint(); }

  std::int64_t batch, channels;
  std::array<PoolWindows, 3> axes;
};

// One window: the inputs [begin, end) along each axis.
struct PoolWindow {
  std::array<std::int64_t, 3> begin, end;

  std::int64_t taps() const { return (end[0] - begin[0]) * (end[1] - begin[1]) * (end[2] - begin[2]); }
};

// Calls body(window, first output) for each window of a row, in order.
template <class Body>
void for_each_window(const PoolPlan& plan, std::int64_t row, const Body& body) {
  const auto at = [](const PoolWindows& windows, std::int64_t o) {
    return std::pair(windows.begin[static_cast<std::size_t>(o)], windows.end[static_cast<std::size_t>(o)]);
  };
  PoolWindow window;
  std::tie(window.begin[0], window.end[0]) = at(plan.axes[0], row);
  std::int64_t output = 0;
  for (std::int64_t i = 0; i < plan.axes[1].outputs(); ++i) {
    std::tie(window.begin[1], window.end[1]) = at(plan.axes[1], i);
    for (std::int64_t j = 0; j < plan.axes[2].outputs(); ++j, output += plan.channels) {
      std::tie(window.begin[2], window.end[2]) = at(plan.axes[2], j);
      body(window, output);
    }
  }
}

// Calls body(offset in the image) for each input of a window, in order.
template <class Body>
void for_each_tap(const PoolPlan& plan, const PoolWindow& window, const Body& body) {
  for (std::int64_t i = window.begin[0]; i < window.end[0]; ++i) {
    for (std::int64_t j = window.begin[1]; j < window.end[1]; ++j) {
      std::int64_t offset = i * plan.step(0) + j * plan.step(1) + window.begin[2] * plan.channels;
      for (std::int64_t k = window.begin[2]; k < window.end[2]; ++k, offset += plan.channels) body(offset);
    }
  }
}

// Channels that are pooled together: their running values stay in registers.
inline constexpr std::int64_t kPoolGroup = 32;

// Calls body(first channel, number of channels) for groups of channels; the number is a constant for all full groups.
template <class Body>
void for_channel_groups(std::int64_t channels, const Body& body) {
  std::int64_t first = 0;
  for (; first + kPoolGroup <= channels; first += kPoolGroup) {
    body(first, std::integral_constant<std::int64_t, kPoolGroup>());
  }
  if (first < channels) body(first, channels - first);
}

// Calls run(image, row of windows) for all of them, in parallel.
template <class Run>
void for_pool_rows(const PoolPlan& plan, const Run& run) {
  const std::int64_t grain = std::max<std::int64_t>(
      1, 8192 / std::max<std::int64_t>(1, plan.image() / std::max<std::int64_t>(1, plan.rows())));
  parallel_for(plan.batch * plan.rows(), grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) run(row / plan.rows(), row % plan.rows());
  });
}

// The reverse way: clears the inputs and calls run(image, row) so that no two calls at a time share an input.
template <class T, class Run>
void for_pool_rows_back(const PoolPlan& plan, T* dx, const Run& run) {
  const PoolWindows& rows = plan.axes[0];
  if (!rows.disjoint()) {
    parallel_for(plan.batch, 1, [&](std::int64_t begin, std::int64_t end) {
      std::fill(dx + begin * plan.image(), dx + end * plan.image(), T(0));
      for (std::int64_t image = begin; image < end; ++image) {
        for (std::int64_t row = 0; row < plan.rows(); ++row) run(image, row);
      }
    });
    return;
  }
  for_pool_rows(plan, [&](std::int64_t image, std::int64_t row) {
    const auto at = static_cast<std::size_t>(row);
    const std::int64_t begin = row == 0 ? 0 : rows.begin[at];
    const std::int64_t end = row + 1 == plan.rows() ? rows.inputs : rows.begin[at + 1];
    T* target = dx + image * plan.image();
    std::fill(target + begin * plan.step(0), target + end * plan.step(0), T(0));
    run(image, row);
  });
}

}  // namespace cohort::kernels
