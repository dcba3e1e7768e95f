#pragma once

#include <string>
#include <vector>

#include "cohort/core/update_layout.h"

namespace cohort {

// A scalar that all variables of an update share.
struct UpdateScalar {
  const char* name;
  DType dtype;
};
inline constexpr UpdateScalar kLearningRate{"learning_rate", DType::Float32};
// Updates done before this one.
inline constexpr UpdateScalar kIterations{"iterations", DType::Int64};

// What an update op has beside its variables, gradients and weight decay.
struct UpdateOptions {
  int slots = 0;  // kinds of slots, in any case
  std::vector<UpdateScalar> shared = {kLearningRate};
  Attributes attributes = {};  // with their defaults
  // Its kernels also write rounded copies of the variables where it is given some, and read gradients in half types.
  bool rounds = false;
  // Kinds of slots on top of `slots` that the call's attributes ask for.
  int (*more_slots)(const OpCall& call) = nullptr;
  // The spec of a slot that has not the gradient's.
  TensorSpec (*slot_spec)(const OpCall& call, int kind, const TensorSpec& gradient) = nullptr;
  // Throws when the update cannot take a gradient of this shape.
  void (*check_gradient)(const OpCall& call, const Shape& gradient) = nullptr;
};

// Defines an op with an UpdateLayout. A pass joins updates that share their attributes and scalars into one.
OpDef& define_update(std::string name, UpdateOptions options);

}  // namespace cohort
