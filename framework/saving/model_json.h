#pragma once

#include <string>
#include <string_view>

#include "cohort/model/model.h"

namespace cohort {

// A model's architecture (and what it was compiled with) as Keras's model.to_json(): config.json of a .keras file.
// Throws Unimplemented for a model that computes in code.
std::string model_to_json(const Model& model);

// What model_from_json takes.
struct ModelFromJsonOptions {
  // Compile the model as the text says.
  bool compile = true;
};
// Makes a Sequential or functional model, built but with fresh weights. Text from outside is checked.
Ref<Model> model_from_json(std::string_view json, ModelFromJsonOptions options = {});

}  // namespace cohort
