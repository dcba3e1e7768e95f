#pragma once

#include <vector>

#include "cohort/core/kernel.h"
#include "cohort/kernels/copy_plan.h"
#include "cohort/ops/slice_range.h"

namespace cohort::kernels {

// What the ops that move elements copy from where to where; the kernels of every device run these plans.

CopyPlan plan_transpose(const KernelSpec& spec);
CopyPlan plan_tile(const KernelSpec& spec);
CopyPlan plan_repeat(const KernelSpec& spec);

// A part of a tensor along one axis: `rows` runs of `width` elements, the runs so many elements apart on either side.
struct PartCopy {
  std::int64_t rows, width;
  std::int64_t from_step, to_step;
  std::int64_t from_offset, to_offset;

  CopyPlan plan() const {
    const CopyAxis axes[] = {{rows, from_step, to_step}, {width, 1, 1}};
    return CopyPlan(axes, from_offset, to_offset);
  }
};

// Part i is copied from input i into the output.
std::vector<PartCopy> plan_concat(const KernelSpec& spec);
std::vector<PartCopy> plan_stack(const KernelSpec& spec);
// Part i is copied from the first input into output i.
std::vector<PartCopy> plan_split(const KernelSpec& spec);
// Both parts are copied from the input into the output.
std::vector<PartCopy> plan_roll(const KernelSpec& spec);

// The elements of each axis of a tensor that an op takes out of it, or puts into it.
using Ranges = std::vector<SliceRange>;
Ranges ranges_of_slice(const KernelSpec& spec, const Shape& part);
Ranges ranges_of_strided_slice(const KernelSpec& spec, const Shape& whole);
Ranges ranges_inside_padding(const KernelSpec& spec, const Shape& inside);

// The copies between a tensor of shape `whole` and the dense tensor of its elements in `ranges`.
CopyPlan plan_take(const Shape& whole, const Ranges& ranges);
CopyPlan plan_put(const Shape& whole, const Ranges& ranges);

}  // namespace cohort::kernels
