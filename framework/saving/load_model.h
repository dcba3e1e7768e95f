#pragma once

#include <string>

#include "cohort/model/model.h"

namespace cohort {

// What load_model takes.
struct LoadModelOptions {
  // Compile the model as it was when it was saved, and restore the optimizer's state.
  bool compile = true;
  // Accepted for Keras's signature: no code is ever run from a file (a Lambda layer's Python is refused), so true and
  // false behave alike.
  bool safe_mode = true;
};

// A model from a .keras or legacy .h5 file, ours or Keras's: architecture, weights and, unless `compile` is false, what
// it was compiled with and the optimizer's state.
Ref<Model> load_model(const std::string& path, LoadModelOptions options = {});

namespace models {
using cohort::load_model;
}

}  // namespace cohort
