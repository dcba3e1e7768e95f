#pragma once

#include "cohort/model/model.h"
#include "cohort/saving/json/object_json.h"

namespace cohort {

// The whole object {"module", "class_name", "config", ...} of a layer, models among them.
Json layer_to_json(const Layer& layer);
Ref<Layer> layer_from_json(const Json& value, int depth = 0);
// The model that an object {"class_name", "config"} describes; None where it describes something else.
Ref<Model> model_in_config(const Json& value, int depth);

// Keras's config of a model alone, and a model made from it.
Json model_config_to_json(const Model& model);
Ref<Model> model_from_config(const std::string& class_name, const Json& config, int depth = 0);
// The model that {"class_name", "config"} describes.
Ref<Model> model_from_object(const Json& value);
Ref<Model> sequential_from_config(const Json& config, int depth);
Ref<Model> functional_from_config(const Json& config, int depth);
Json functional_config_to_json(const Model& model);

Json shape_to_json(const Shape& shape);
// A list of sizes, null for unknown ones.
Shape shape_from_json(const Json& value, std::string_view who);

}  // namespace cohort
