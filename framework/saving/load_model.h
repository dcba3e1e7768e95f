#pragma once

#include <string>

#include "cohort/model/model.h"

namespace cohort {

struct LoadModelOptions {
  bool compile = true;
  // Python code in a file (a Lambda layer) is never run; this only words the refusal.
  bool safe_mode = true;
};

// A model from a .keras or legacy .h5 file, ours or Keras's: architecture, weights and, unless `compile` is false, what
// it was compiled with and the optimizer's state.
Ref<Model> load_model(const std::string& path, LoadModelOptions options = {});

namespace models {
using cohort::load_model;
}

}  // namespace cohort
