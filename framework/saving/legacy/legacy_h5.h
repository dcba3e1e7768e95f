#pragma once

#include <string>

#include "cohort/model/model.h"
#include "cohort/saving/load_model.h"

namespace cohort {

// Writes a model as Keras's legacy .h5 file: architecture, weights, what it was compiled with and the optimizer's
// state. Model::save("x.h5") calls this. Whole or not at all.
void save_legacy_h5(const Model& model, const std::string& path, bool overwrite = true);
// Reads one, ours or Keras's, the optimizer's state included.
Ref<Model> load_legacy_h5(const std::string& path, const LoadModelOptions& options = {});

}  // namespace cohort
