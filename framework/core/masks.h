#pragma once

#include <cstddef>

#include "cohort/core/tensor.h"
#include "cohort/core/thread_scope.h"

namespace cohort {

// While one lives, this thread remembers which masks layers gave to which tensors; the last to end forgets them all.
// Layer calls, traces and tapes hold one, so that losses and metrics computed beside a model find its outputs' masks.
class MaskScope {
 public:
  // Begins the scope.
  MaskScope();
  ~MaskScope();
  MaskScope(const MaskScope&) = delete;

 private:
  friend void set_mask(const Tensor& tensor, const Tensor& mask);
  friend Tensor mask_of(const Tensor& tensor);
  using First = ThreadScope<MaskScope, std::size_t>;
  First first_;  // where the masks of this scope and those around it begin
};

// Says which parts of a tensor count: booleans for its leading axes, (batch, steps) as a rule. Without effect outside
// every scope.
void set_mask(const Tensor& tensor, const Tensor& mask);
// The mask this very tensor was given; undefined when there is none. What ops make of the tensor carries none.
Tensor mask_of(const Tensor& tensor);

}  // namespace cohort
