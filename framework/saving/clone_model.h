#pragma once

#include <functional>

#include "cohort/model/model.h"

namespace cohort {

// What clone_model takes besides the model.
struct CloneModelOptions {
  // What the clone is built on in place of new inputs, in the model's structure.
  Symbols input_tensors = {};
  // Makes a layer's clone; left out: one of the same class and config, with fresh weights. A layer that is returned
  // itself is shared.
  std::function<Ref<Layer>(const Ref<Layer>&)> clone_function = {};
};
// A model of the same layers with weights of its own, not compiled. Throws for a model that computes in code.
Ref<Model> clone_model(const Model& model, CloneModelOptions options = {});

}  // namespace cohort
