#pragma once

#include "cohort/core/op.h"

namespace cohort {

// What an update op (a call with `groups`) says of the variable or slot that is its input `i`, given the spec of the
// gradient it goes with: the gradient's own, or for the last two slots of a `factored` update the gradient's without
// its last and without its last but one axis.
TensorSpec update_claim(const OpCall& call, int i, const TensorSpec& gradient);

}  // namespace cohort
