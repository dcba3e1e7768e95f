#pragma once

#include "cohort/model/model.h"
#include "cohort/saving/json/object_json.h"

namespace cohort {

// The whole object {"module", "class_name", "config", ...} of a layer, models among them.
Json layer_to_json(const Layer& layer);
Ref<Layer> layer_from_json(const Json& value, int depth = 0);

// True for the classes of models that files hold.
bool is_model_class(const std::string& class_name);
// The model that {"class_name", "config"} describes; `depth` counts the objects around it.
Ref<Model> model_from_object(const Json& value, int depth = 0);
// A model made from Keras's config of it alone, and that config.
Ref<Model> sequential_from_config(const Json& config, int depth);
Ref<Model> functional_from_config(const Json& config, int depth);
Json functional_config_to_json(const Model& model);

Json shape_to_json(const Shape& shape);
// A list of sizes, null for unknown ones.
Shape shape_from_json(const Json& value, std::string_view who);

}  // namespace cohort
