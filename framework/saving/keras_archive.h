#pragma once

#include <string>

#include "cohort/model/model.h"
#include "cohort/saving/load_model.h"

namespace cohort {

// Writes a model as a .keras file that Keras opens; Model::save("x.keras") calls this. Whole or not at all.
void save_keras_archive(const Model& model, const std::string& path, bool overwrite = true);
// Reads one, ours or Keras's.
Ref<Model> load_keras_archive(const std::string& path, const LoadModelOptions& options = {});

}  // namespace cohort
