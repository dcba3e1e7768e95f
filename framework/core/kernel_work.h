#pragma once

#include <span>

#include "cohort/core/device.h"
#include "cohort/core/op.h"
#include "cohort/core/timeline.h"

namespace cohort {

// Tells what a launch computes, once somebody asks: nothing is put together for those who do not.
class KernelSubject {
 public:
  virtual ~KernelSubject() = default;
  virtual KernelWork work() const = 0;
};

// Whether of this input nothing but shape and type are looked at when the op runs.
bool looks_at_shape_only(const OpDef& op, int input);

// What a call of an op, with these outputs, computes. Variables count by what the op claims them for.
KernelWork work_of(const OpCall& call, std::span<const TensorSpec> outputs);

// The span of a launch, named and described, but for its times.
Timeline::Span kernel_span(const KernelCall& call);
// The span of a copy of that many bytes, but for its times.
Timeline::Span copy_span(std::size_t bytes);
// Adds how much of the device's memory is in use now, where that is counted.
void count_memory(Device& device, TimelineLane& lane);

}  // namespace cohort
