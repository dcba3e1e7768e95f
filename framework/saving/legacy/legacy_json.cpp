#include "cohort/saving/legacy/legacy_json.h"

#include <utility>

#include "cohort/core/error.h"
#include "cohort/model/layer/layer_names.h"
#include "cohort/model/symbols/operation.h"
#include "cohort/saving/json/compile_json.h"
#include "cohort/saving/json/layer_json.h"

namespace cohort {
namespace {

bool has_layers(const Json& value) {
  return is_object_json(value) && value["config"].is_object() && value["config"].contains("layers") &&
         value["config"]["layers"].is_array();
}

// {"class_name", "config"} and what places a layer in its model.
Json without_module(Json object) {
  // Keras finds a bare class name among its public layers, of which some are called like its operations: what is not
  // public keeps its module, which its loader honours.
  const Json module = object.contains("module") ? object["module"] : Json();
  if (!has_layers(object) && module.is_string() && module.get<std::string>().starts_with("keras.src.")) return object;
  Json result{{"class_name", python_class_name(registered_name(object))}, {"config", std::move(object["config"])}};
  for (const char* key : {"name", "inbound_nodes"}) {
    if (object.contains(key)) result[key] = std::move(object[key]);
  }
  return result;
}

// The layers of every model in `value`, at any depth, in the legacy form.
void make_layers_legacy(Json& value) {
  if (!value.is_structured()) return;
  for (Json& each : value) make_layers_legacy(each);
  if (!has_layers(value)) return;
  for (Json& layer : value["config"]["layers"]) layer = without_module(std::move(layer));
}

// A loss or metric, or lists and dicts of them, in the legacy form.
Json legacy_objects(Json value) {
  if (is_object_json(value)) return without_module(std::move(value));
  if (value.is_structured()) {
    for (Json& each : value) each = legacy_objects(std::move(each));
  }
  return value;
}

// Keras writes an operation like a layer, by its bare class name, which layers may have too. Only an operation has no
// `trainable`.
void name_operation_module(Json& layer) {
  if (layer["config"].contains("trainable")) return;
  const std::string module = operation_module(layer["class_name"].get<std::string>());
  if (!module.empty()) layer["module"] = module;
}

// What older versions of Keras called otherwise; Keras 3's loader knows the same.
void modernise_layers(Json& value) {
  if (!value.is_structured()) return;
  for (Json& each : value) modernise_layers(each);
  if (!has_layers(value)) return;
  for (Json& layer : value["config"]["layers"]) {
    if (!is_object_json(layer) || layer.contains("module") || !layer["config"].is_object()) continue;
    name_operation_module(layer);
    Json& config = layer["config"];
    if (config.contains("batch_input_shape")) {
      Json shape = std::move(config["batch_input_shape"]);
      config.erase("batch_input_shape");
      if (layer["class_name"] == "InputLayer") config["batch_shape"] = std::move(shape);
    }
    if (config.contains("axis") && config["axis"].is_array() && config["axis"].size() == 1) {
      config["axis"] = Json(config["axis"][0]);
    }
  }
}

}  // namespace

Json legacy_model_config(const Model& model) {
  Json value = layer_to_json(model);
  make_layers_legacy(value);
  return Json{{"class_name", std::move(value["class_name"])}, {"config", std::move(value["config"])}};
}

Json legacy_training_config(const CompileOptions& options) {
  Json config = compile_to_json(options);
  Json optimizer = std::move(config["optimizer"]);
  config.erase("optimizer");
  for (const char* key : {"loss", "metrics", "weighted_metrics"}) config[key] = legacy_objects(std::move(config[key]));
  config["optimizer_config"] = optimizer.is_object() ? without_module(std::move(optimizer)) : std::move(optimizer);
  return config;
}

Ref<Model> model_from_legacy_config(const Json& value) {
  Json whole = value;
  modernise_layers(whole);
  return model_from_object(whole);
}

CompileOptions compile_from_legacy_config(const Json& value) {
  if (!value.is_object() || !value.contains("optimizer_config")) {
    throw invalid_argument("training_config", "an object with a key 'optimizer_config' is expected",
                           {{"training_config", excerpt(value)}});
  }
  Json config = value;
  config["optimizer"] = std::move(config["optimizer_config"]);
  return compile_from_json(config);
}

}  // namespace cohort
