#include "cohort/saving/model_json.h"

#include <utility>

#include "cohort/core/error.h"
#include "cohort/model/functional.h"
#include "cohort/model/layer/input_layer.h"
#include "cohort/model/sequential.h"
#include "cohort/saving/json/compile_json.h"
#include "cohort/saving/json/layer_json.h"

namespace cohort {
namespace {

// Of a model inside others.
constexpr int kMaximumDepth = 33;

Json sequential_config_to_json(const Sequential& model) {
  Json layers = Json::array();
  const Shape input = model.input_shape();
  if (model.input_layer()) {
    layers.push_back(layer_to_json(*model.input_layer()));
  } else if (input.rank() > 0) {
    // A stack that met its input in fit is saved as Keras saves it: with an Input at its foot.
    layers.push_back(layer_to_json(InputLayer(input.slice(1), {.name = "input_layer"})));
  }
  for (const Ref<Layer>& layer : model.layers()) layers.push_back(layer_to_json(*layer));
  Json config{{"name", model.name()},
              {"trainable", model.trainable()},
              {"dtype", policy_to_json(model.dtype_policy().name())},
              {"layers", std::move(layers)}};
  if (input.rank() > 0) config["build_input_shape"] = shape_to_json(input);
  return config;
}

const Json& member(const Json& object, const char* key, std::string_view who) {
  if (!object.is_object() || !object.contains(key)) {
    throw invalid_argument(who, std::string("an object with a key '") + key + "' is expected",
                           {{"value", excerpt(object)}});
  }
  return object[key];
}

}  // namespace

bool is_model_class(const std::string& class_name) {
  return class_name == "Sequential" || class_name == "Functional" || class_name == "Model";
}

Json shape_to_json(const Shape& shape) {
  Json list = Json::array();
  for (const std::int64_t size : shape) list.push_back(size == kUnknown ? Json() : Json(size));
  return list;
}

Shape shape_from_json(const Json& value, std::string_view who) {
  return FieldCodec<Shape>::from({value_from_json(value), who, "shape"});
}

Json layer_to_json(const Layer& layer) {
  const auto* model = dynamic_cast<const Model*>(&layer);
  if (model == nullptr) return object_to_json(&layer);
  const auto* sequential = dynamic_cast<const Sequential*>(model);
  if (!sequential && model->functional() == nullptr) {
    throw unimplemented(model->title(), "only Sequential and functional models can be saved whole", {},
                        "Save its weights: model.save_weights(\"x.weights.h5\").");
  }
  Json result{{"module", sequential ? "keras" : "keras.src.models.functional"},
              {"class_name", sequential ? "Sequential" : "Functional"},
              {"config", sequential ? sequential_config_to_json(*sequential) : functional_config_to_json(*model)},
              {"registered_name", sequential ? Json() : Json("Functional")}};
  if (sequential) {
    if (const Shape input = sequential->input_shape(); input.rank() > 0) {
      result["build_config"] = Json{{"input_shape", shape_to_json(input)}};
    }
  }
  if (model->compiled()) result["compile_config"] = compile_to_json(model->compile_options());
  return result;
}

Ref<Layer> layer_from_json(const Json& value, int depth) {
  for (const char* key : {"class_name", "config"}) member(value, key, "layer");
  Ref<Layer> layer;
  detail::RefFieldOf<Layer> field(layer);
  read_ref(field, value, "model", "layers", depth);
  return layer;
}

Ref<Model> sequential_from_config(const Json& config, int depth) {
  const Json& entries = member(config, "layers", "Sequential");
  if (!entries.is_array())
    throw invalid_argument("Sequential", "layers must be a list", {{"layers", excerpt(entries)}});
  std::vector<Ref<Layer>> layers;
  for (const Json& entry : entries) layers.push_back(layer_from_json(entry, depth));
  const Json name = config.contains("name") ? config["name"] : Json();
  auto model =
      std::make_shared<Sequential>(layers, ModelOptions{.name = name.is_string() ? name.get<std::string>() : ""});
  if (config.contains("build_input_shape") && config["build_input_shape"].is_array()) {
    model->ensure_built({shape_from_json(config["build_input_shape"], "Sequential")});
  }
  return Ref<Model>(std::static_pointer_cast<Model>(model));
}

std::string model_to_json(const Model& model) { return dump_json(layer_to_json(model)); }

Ref<Model> model_from_object(const Json& value, int depth) {
  if (depth > kMaximumDepth) throw invalid_argument("model", "at most 32 models inside one another are read");
  const Json& class_name = member(value, "class_name", "model");
  if (!class_name.is_string() || !is_model_class(class_name)) {
    throw unimplemented("model", "Sequential and functional models can be read", {{"class_name", excerpt(class_name)}});
  }
  const Json& config = member(value, "config", "model");
  return class_name == "Sequential" ? sequential_from_config(config, depth) : functional_from_config(config, depth);
}

Ref<Model> model_from_json(std::string_view json, ModelFromJsonOptions options) {
  const Json value = parse_json(json, "model");
  Ref<Model> model = model_from_object(value);
  const bool compiled =
      value.contains("compile_config") && value["compile_config"].is_object() && !value["compile_config"].empty();
  if (options.compile && compiled) model->compile(compile_from_json(value["compile_config"]));
  return model;
}

}  // namespace cohort
