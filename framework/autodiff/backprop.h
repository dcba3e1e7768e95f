#pragma once

#include <vector>

#include "cohort/core/op.h"

namespace cohort {

// One op as a tape remembers it.
struct RecordedOp {
  const OpDef* op;
  Attributes attributes;
  Tensors inputs;
  Tensors outputs;
};

// Walks recorded ops backwards from the targets and returns the gradient of each source. A source that is a resource
// receives the sum over all reads of it.
Gradients backpropagate(const std::vector<RecordedOp>& ops, const Tensors& targets, const Tensors& output_gradients,
                        const Tensors& sources);

}  // namespace cohort
