#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cohort/core/tensor.h"

namespace cohort::ops {

// The block that starts at `begin` and has `size` elements along each axis; -1: to the end. It must lie inside x.
Tensor slice(const Tensor& x, const std::vector<std::int64_t>& begin, const std::vector<std::int64_t>& size);

// One axis of x[begin:end:step] in Python's sense; a bound that is not given is open.
struct SliceSpec {
  // A bound that is not given.
  static constexpr std::int64_t kOpen = INT64_MIN;
  // First element; negative ones count from the back.
  std::int64_t begin = kOpen;
  // The element after the last; negative ones count from the back.
  std::int64_t end = kOpen;
  // Distance between elements, not 0; negative goes backwards.
  std::int64_t step = 1;
};
// x[begin:end:step, ...] in Python's sense. Axes that are not named are taken whole.
Tensor strided_slice(const Tensor& x, const std::vector<SliceSpec>& axes);
// One element along an axis, which is dropped: x[..., index, ...]; negative indices count from the back.
Tensor take_at(const Tensor& x, std::int64_t index, int axis = 0);

// Adds (before, after) elements along each axis. mode: "constant" (of the given value), "reflect" (mirrored without the
// edge), "symmetric" (mirrored with it).
Tensor pad(const Tensor& x, const std::vector<std::pair<std::int64_t, std::int64_t>>& paddings,
           const std::string& mode = "constant", double constant_value = 0);
// Reverses the order along the axes (all when empty).
Tensor flip(const Tensor& x, std::vector<std::int64_t> axes = {});
// Shifts along an axis; what leaves at one end enters at the other. Without an axis, through the flattened tensor.
Tensor roll(const Tensor& x, std::int64_t shift, std::optional<int> axis = std::nullopt);

}  // namespace cohort::ops
