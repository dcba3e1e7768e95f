#pragma once

#include "cohort/model/model.h"
#include "cohort/saving/json/object_json.h"

namespace cohort {

// The attributes model_config and training_config of a legacy .h5 file: layers as {"class_name", "config"} without the
// module, the optimizer apart from what else was compiled.
Json legacy_model_config(const Model& model);
Json legacy_training_config(const CompileOptions& options);
Ref<Model> model_from_legacy_config(const Json& value);
CompileOptions compile_from_legacy_config(const Json& value);

}  // namespace cohort
