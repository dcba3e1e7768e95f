#include "cohort/callbacks/projector.h"

#include <filesystem>

#include "cohort/core/error.h"
#include "cohort/files/atomic_file.h"
#include "cohort/model/model.h"

namespace cohort::callbacks {
namespace {

// Text in quotes, as protobuf's text format has it.
std::string quoted_text(const std::string& text) {
  constexpr const char* kDigits = "01234567";
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\' || c == '\'') {
      quoted += {'\\', c};
    } else if (byte < 32 || byte > 126) {
      quoted += {'\\', kDigits[byte >> 6], kDigits[byte >> 3 & 7], kDigits[byte & 7]};
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

}  // namespace

void write_projector_config(const Model& model, const EmbeddingsMetadata& metadata, const std::string& log_dir) {
  const auto* one_for_all = std::get_if<std::string>(&metadata);
  std::map<std::string, std::string> by_layer;
  if (!one_for_all) by_layer = std::get<std::map<std::string, std::string>>(metadata);
  std::string config;
  for (const Ref<Layer>& layer : model.layers()) {
    if (layer->class_name() != "Embedding") continue;
    std::string file = one_for_all ? *one_for_all : "";
    if (const auto found = by_layer.find(layer->name()); found != by_layer.end()) {
      file = found->second;
      by_layer.erase(found);
    }
    // Keras gives every layer the name that the first one has in TensorFlow's checkpoints.
    config += "embeddings {\n  tensor_name: \"layer_with_weights-0/embeddings/.ATTRIBUTES/VARIABLE_VALUE\"\n";
    if (!file.empty()) config += "  metadata_path: " + quoted_text(file) + "\n";
    config += "}\n";
  }
  if (!by_layer.empty()) {
    throw invalid_argument("TensorBoard", "embeddings_metadata must name Embedding layers of the model",
                           {{"embeddings_metadata", by_layer.begin()->first}});
  }
  write_file_atomically((std::filesystem::path(log_dir) / "projector_config.pbtxt").string(), config);
}

}  // namespace cohort::callbacks
