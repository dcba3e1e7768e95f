#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "cohort/model/model.h"

namespace cohort {

struct LoadModelOptions;

// A file format of models. Each registers itself in its own source, so that neither models nor load_model know any.
struct ModelFormat {
  // How a path of this format ends: ".keras". Where several fit, the longest counts that can do what is asked.
  std::string ending;
  // Writes the whole model; nullptr: this format holds none.
  void (*save)(const Model&, const std::string& path, bool overwrite) = nullptr;
  // Reads a whole model; nullptr: this format holds none.
  Ref<Model> (*load)(const std::string& path, const LoadModelOptions& options) = nullptr;
  // Whether a file has the architecture, in a format whose files may hold weights alone; nullptr: each one has it.
  bool (*holds_model)(const std::string& path) = nullptr;
  // Writes the weights alone; nullptr: this format does not.
  void (*save_weights)(const Model&, const std::string& path, bool overwrite) = nullptr;
  // Reads weights into a model; nullptr: this format does not.
  void (*load_weights)(Model&, const std::string& path, const LoadWeightsOptions& options) = nullptr;
  // Writes the graph of predict_step; nullptr: this format does not.
  void (*export_graph)(Model&, const std::string& path, const ExportOptions& options) = nullptr;
};

// Makes a format known; an ending may be registered once.
bool register_model_format(ModelFormat format);

// The format of the longest ending that fits the path, among those that `can` accepts; throws InvalidArgument, listing
// the endings of these, when there is none.
const ModelFormat& find_model_format(const std::string& path, std::string_view who,
                                     const std::function<bool(const ModelFormat&)>& can);

// Whether a path ends as a format's whose weights can be read into a model.
bool has_weights_format(const std::string& path);

// What the format of a path does for one of its members: model_format_function(path, "load_model", &ModelFormat::load).
template <class Function>
Function model_format_function(const std::string& path, std::string_view who, Function ModelFormat::*member) {
  return find_model_format(path, who, [member](const ModelFormat& format) { return format.*member != nullptr; }).*
         member;
}

}  // namespace cohort
