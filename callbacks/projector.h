#pragma once

#include <map>
#include <string>
#include <variant>

namespace cohort {
class Model;
}

namespace cohort::callbacks {

// A file of labels for all Embedding layers, or one for each by its name.
using EmbeddingsMetadata = std::variant<std::string, std::map<std::string, std::string>>;

// Writes <log_dir>/projector_config.pbtxt, which tells TensorBoard's projector of the model's Embedding layers.
void write_projector_config(const Model& model, const EmbeddingsMetadata& metadata, const std::string& log_dir);

}  // namespace cohort::callbacks
