#pragma once

#include <string>

#include "cohort/model/model.h"

namespace cohort {

struct LoadModelOptions {
  bool compile = true;
};

// A model from a .keras file, ours or Keras's: architecture, weights and, unless `compile` is false, what it was
// compiled with and the optimizer's state.
Ref<Model> load_model(const std::string& path, LoadModelOptions options = {});

// Writes a model as a .keras file that Keras opens; Model::save("x.keras") calls this. Whole or not at all.
void save_keras_archive(const Model& model, const std::string& path, bool overwrite = true);

}  // namespace cohort
